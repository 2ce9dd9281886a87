#include "codegen/host/back_end.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/shared_library.h"

namespace tokamak::codegen {
namespace {

TEST(BackEnd, IsFoundBesideThePrograms) {
  const Result<const BackEnd*> backEnd = openBackEnd();
  ASSERT_TRUE(backEnd) << backEnd.error().str();
  EXPECT_EQ((*backEnd)->compilerVersion().rfind("llvm-", 0), 0u);
  const HostTarget wide = (*backEnd)->detectUpTo(64), narrow = (*backEnd)->detectUpTo(16);
  EXPECT_FALSE(wide.cpu.empty());
  EXPECT_EQ(narrow.vectorBytes, 16);
}

TEST(BackEnd, ThatIsMissingIsNamedWithWhereItWasLookedFor) {
  const Result<const BackEnd*> backEnd = openBackEnd("/nowhere/libtokamak_llvm.so");
  ASSERT_FALSE(backEnd);
  EXPECT_EQ(backEnd.error().code, "T0505");
  EXPECT_NE(backEnd.error().message.find("/nowhere/libtokamak_llvm.so"), std::string::npos);
  EXPECT_NE(backEnd.error().hint.find("TOKAMAK_LLVM"), std::string::npos);
}

TEST(BackEnd, IsNotTakenForOneWhenItIsAnotherLibrary) {
  const Result<const BackEnd*> backEnd = openBackEnd("libc.so.6");
  ASSERT_FALSE(backEnd);
  EXPECT_EQ(backEnd.error().code, "T0505");
  EXPECT_NE(backEnd.error().message.find("no back end"), std::string::npos);
}

TEST(BackEnd, OfAnotherBuildIsRefused) {
  std::string tried;
  const auto library = SharedLibrary::open(componentPlaces("libtokamak_llvm.so"), tried);
  ASSERT_TRUE(library) << tried;
  const BackEnd* (*entry)(const char*) = nullptr;
  ASSERT_TRUE(library->find("tokamakBackEnd", entry));
  EXPECT_EQ(entry("another"), nullptr);
}

}  // namespace
}  // namespace tokamak::codegen
