#include "support/npy.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace tokamak {
namespace {

struct TempFolder {
  std::string path;
  TempFolder() {
    char name[] = "/tmp/tokamak_npy_XXXXXX";
    path = mkdtemp(name);
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
};

std::string file(std::string_view header, std::string_view data, char major = 1) {
  std::string out = "\x93NUMPY";
  out += major;
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  if (major > 1) out += std::string(2, '\0');
  return out + std::string(header) + std::string(data);
}

constexpr DType kAll[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                          DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

TEST(Npy, RoundTripsEveryDtypeAndShape) {
  TempFolder folder;
  for (DType dtype : kAll) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {1}, {7}, {0}, {3, 0, 2}, {2, 3}, {2, 3, 4}, std::vector<int64_t>(20, 1)}) {
      Array array(dtype, shape);
      for (int64_t i = 0; i < array.size(); ++i)
        array.setDouble(i, dtype == DType::boolean ? i % 2 : i * 3 - (isSigned(dtype) ? 7 : 0));
      if (isFloat(dtype) && array.size() > 2)
        array.setDouble(0, NAN), array.setDouble(1, -INFINITY), array.setDouble(2, -0.0);
      const std::string path = folder.path + "/a.npy";
      ASSERT_TRUE(writeNpy(path, array));
      auto back = readNpy(path);
      ASSERT_TRUE(back) << back.error().str();
      EXPECT_TRUE(*back == array) << nameOf(dtype);
      EXPECT_TRUE(*parseNpy(formatNpy(array), "a") == array);
      EXPECT_EQ((formatNpy(array).size() - array.bytes()) % 64, 0u);
    }
  }
}

TEST(Npy, ReadsWhatOthersWrite) {
  const std::string two("\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06", 12);
  auto big = parseNpy(file("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }", two), "f");
  ASSERT_TRUE(big) << big.error().str();
  EXPECT_EQ(big->getInt(5), 6);
  auto fortran = parseNpy(file("{\"shape\": (2L, 3L,), 'fortran_order': True, 'descr': '>i2'}\n", two, 2), "f");
  ASSERT_TRUE(fortran) << fortran.error().str();
  EXPECT_EQ(fortran->shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(fortran->getInt(1), 3);  // [0, 1]
  EXPECT_EQ(fortran->getInt(3), 2);  // [1, 0]
  auto flags = parseNpy(file("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\x02\x01", 3), "f");
  EXPECT_EQ(flags->as<uint8_t>()[0], 1);
  auto scalar = parseNpy(file("{'descr': '<f8', 'fortran_order': True, 'shape': (), }", std::string(8, '\0')), "f");
  EXPECT_EQ(scalar->size(), 1);
}

TEST(Npy, LongHeadersInFiles) {
  TempFolder folder;
  const std::string path = folder.path + "/long.npy";
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (5000,), }" + std::string(9000, ' ') + "\n";
  std::ofstream(path, std::ios::binary) << file(header, std::string(5000, 'x'));
  auto array = readNpy(path);
  ASSERT_TRUE(array) << array.error().str();
  EXPECT_EQ(array->getInt(4999), 'x');
}

std::string codeOf(std::string_view bytes) {
  auto result = parseNpy(bytes, "bad.npy");
  if (result) return "ok";
  EXPECT_EQ(result.error().location.file, "bad.npy");
  EXPECT_FALSE(result.error().hint.empty());
  return result.error().code;
}

TEST(Npy, RefusesWithACode) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(codeOf(file(good, "12345678")), "ok");
  EXPECT_EQ(codeOf(""), "T0302");
  EXPECT_EQ(codeOf("PK\x03\x04 a zip file"), "T0302");
  EXPECT_EQ(codeOf(file(good, "12345678", 9)), "T0302");
  EXPECT_EQ(codeOf(file(good, "1234567")), "T0304");
  EXPECT_EQ(codeOf(file(good, "123456789")), "T0304");
  auto dictionary = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return file("{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }", "");
  };
  for (const char* type : {"'<c8'", "'<u4'", "'<U3'", "'|O'", "'<f16'", "''", "[('a', '<f4')]", "'<M8[ns]'"})
    EXPECT_EQ(codeOf(dictionary(type, "False", "(0,)")), "T0303") << type;
  EXPECT_EQ(codeOf(dictionary("'<f4'", "Maybe", "(0,)")), "T0302");
  for (const char* shape : {"(-1,)", "(1", "3", "(1 2)", "(a,)", "(99999999999999999999,)", "(4294967296, 4294967296)",
                            "(9223372036854775807,)", "(1,,2)"})
    EXPECT_EQ(codeOf(dictionary("'<f4'", "False", shape)), "T0302") << shape;
  EXPECT_EQ(codeOf(dictionary("'<f8'", "False", "(1000000000000,)")), "T0304");  // nothing is allocated
  EXPECT_EQ(codeOf(dictionary("'<f4'", "False", "(0, 9223372036854775807, 9)")), "ok");
  EXPECT_EQ(codeOf(file("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", "")), "T0302");
  EXPECT_EQ(codeOf(file("{'descr': '<f4', 'shape': (0,)}", "")), "T0302");
  EXPECT_EQ(codeOf(file(good + " x", "12345678")), "T0302");
  std::string claims = "\x93NUMPY\x02";
  claims += std::string("\0\xff\xff\xff\xff", 5);
  EXPECT_EQ(codeOf(claims), "T0302");
}

TEST(Npy, EveryCutIsDiagnosed) {
  Array array(DType::i32, {3, 2});
  const std::string whole = formatNpy(array);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(codeOf(std::string_view(whole).substr(0, length)), "ok");
  for (size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      (void)parseNpy(changed, "bad.npy");  // any answer, no crash
    }
}

TEST(Npy, FilesThatCannotBeOpened) {
  TempFolder folder;
  EXPECT_EQ(readNpy(folder.path + "/none.npy").error().code, "T0301");
  EXPECT_EQ(readNpy(folder.path).error().code, "T0301");
  EXPECT_EQ(readNpy("/dev/null").error().code, "T0301");
  EXPECT_EQ(writeNpy(folder.path + "/no/such.npy", Array(DType::f32, {1})).error().code, "T0305");
  mkdir((folder.path + "/taken").c_str(), 0777);
  EXPECT_EQ(writeNpy(folder.path + "/taken", Array(DType::f32, {1})).error().code, "T0305");
  EXPECT_EQ(writeNpy("/dev/full/x", Array(DType::f32, {1})).error().code, "T0305");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);  // nothing left behind
}

}  // namespace
}  // namespace tokamak
