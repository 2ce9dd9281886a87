#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "driver/three_ways.h"
#include "fuzz/compare.h"
#include "fuzz/random_graph.h"

namespace tokamak {
namespace {

namespace fs = std::filesystem;

Graph program() {
  return *parseGraph(R"(graph @f(%x: f32[M, 40], %w: f32[40]) {
    %0 = softmax %x {axis = 1} : f32[M, 40]
    %1 = norm %0, %w {kind = rms, affine = true} : f32[M, 40]
    %2 = reduce %1 {kind = sum, axes = [0]} : f32[40]
    return %1, %2
  })");
}

/// A folder of its own for every test, and engines that keep their cache there and remember what they warn of.
class Cache : public testing::Test {
 protected:
  Cache() : folder_(fs::temp_directory_path() / ("tokamak_cache_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Cache() override { fs::remove_all(folder_); }

  Engine engine() { return engineAt(folder_); }
  Engine engineAt(const fs::path& folder) {
    return Engine({.threads = 1, .cacheFolder = folder.string(), .warn = [this](std::string_view text) {
                     warnings_.emplace_back(text);
                   }});
  }
  fs::path file() const { return folder_ / "kernels.db"; }

  /// Compiles and runs; whether the outputs are right.
  static bool runsRight(const Engine& engine) {
    const Graph graph = program();
    const auto inputs = fuzz::randomInputs(graph, 3, {{"M", 6}});
    const auto outputs = runCompiled(graph, inputs, engine);
    return outputs && fuzz::compareOutputs(graph, inputs, *outputs);
  }

  fs::path folder_;
  std::vector<std::string> warnings_;
};

TEST_F(Cache, ServesTheSecondCompilationFromDisk) {
  {
    const Engine first = engine();
    EXPECT_TRUE(runsRight(first));
    EXPECT_GT(first.cache->stats().puts, 0);
    EXPECT_EQ(first.cache->stats().diskHits, 0);
    EXPECT_TRUE(runsRight(first));
    EXPECT_EQ(first.cache->stats().memoryHits, first.cache->stats().puts);
  }
  const Engine second = engine();
  EXPECT_TRUE(runsRight(second));
  EXPECT_GT(second.cache->stats().diskHits, 0);
  EXPECT_EQ(second.cache->stats().misses, 0);
  EXPECT_EQ(second.cache->stats().puts, 0);
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(Cache, ADamagedFileIsMovedAside) {
  std::ofstream(file()) << std::string(9000, 'x');
  {
    const Engine first = engine();
    EXPECT_TRUE(runsRight(first));
    EXPECT_TRUE(runsRight(first));
  }
  EXPECT_EQ(warnings_.size(), 1u);
  const Engine second = engine();
  EXPECT_TRUE(runsRight(second));
  EXPECT_GT(second.cache->stats().diskHits, 0);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(Cache, AFileDamagedInTheMiddleCostsOnlyTime) {
  { EXPECT_TRUE(runsRight(engine())); }
  const auto size = fs::file_size(file());
  ASSERT_GT(size, 4096u);
  std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
  for (uintmax_t at = 4096; at < size; at += 512) {
    out.seekp(static_cast<std::streamoff>(at));
    out << "damage damage damage";
  }
  out.close();
  const Engine second = engine();
  EXPECT_TRUE(runsRight(second));
  EXPECT_TRUE(runsRight(second));
  EXPECT_LE(warnings_.size(), 1u);
}

TEST_F(Cache, AFolderThatCannotBeIsReportedOnce) {
  std::ofstream(folder_ / "file") << "in the way";
  const Engine here = engineAt(folder_ / "file" / "below");
  EXPECT_TRUE(runsRight(here));
  EXPECT_TRUE(runsRight(here));
  EXPECT_FALSE(here.cache->stats().onDisk);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(Cache, ALockedFileCostsOnlyTime) {
  { EXPECT_TRUE(runsRight(engine())); }
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr, nullptr),
            SQLITE_OK);
  {
    const Engine second = engine();
    EXPECT_TRUE(runsRight(second));
    EXPECT_TRUE(runsRight(second));
  }
  EXPECT_LE(warnings_.size(), 1u);
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_TRUE(runsRight(engine()));
}

/// Children start before this process has threads of its own: each makes its engine after the fork.
TEST_F(Cache, ProcessesShareTheFile) {
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(runsRight(engine()) && warnings_.empty() ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  const Engine after = engine();
  EXPECT_TRUE(runsRight(after));
  EXPECT_GT(after.cache->stats().diskHits, 0);
  EXPECT_EQ(after.cache->stats().misses, 0);
  EXPECT_TRUE(warnings_.empty());
}

}  // namespace
}  // namespace tokamak
