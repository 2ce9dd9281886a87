#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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
  /// A cache that holds the program, made by a child so that this process stays without threads.
  void fill() {
    const pid_t child = fork();
    if (child == 0) {
      const bool right = runsRight(engine());  // the engine is gone, its file closed, before the process ends
      _exit(right ? 0 : 1);
    }
    int status = -1;
    EXPECT_TRUE(waitpid(child, &status, 0) == child && status == 0);
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

/// What the body says in a child process that is not root: permissions do not bind root.
template <class Body>
bool holdsWithoutPrivileges(Body body) {
  constexpr uid_t kNobody = 65534;
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(3);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A folder that may not be written, empty and with a cache that another made: a warning and the right result.
TEST_F(Cache, AReadOnlyFolderCostsOnlyTime) {
  for (const bool filled : {false, true}) {
    if (filled) fill();
    for (const auto& entry : fs::directory_iterator(folder_)) fs::permissions(entry, fs::perms(0444));
    fs::permissions(folder_, fs::perms(0555));
    EXPECT_TRUE(holdsWithoutPrivileges([&] {
      std::ofstream probe(folder_ / "probe");
      if (probe) return false;  // the folder is not read-only after all
      const Engine here = engine();
      return runsRight(here) && runsRight(here) && warnings_.size() == 1;
    })) << (filled ? "filled" : "empty");
    fs::permissions(folder_, fs::perms(0755));
  }
}

/// A disk that fills up on the way: files of the child cannot grow beyond a few pages.
TEST_F(Cache, AFullDiskCostsOnlyTime) {
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{4096}, rlim_t{20000}, rlim_t{40000}})
    EXPECT_TRUE(holdsWithoutPrivileges([&] {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
      const Engine here = engineAt(fs::temp_directory_path() / ("tokamak_full_" + std::to_string(getpid())));
      const bool right = runsRight(here) && runsRight(here) && warnings_.size() <= 1;
      const bool warned = warnings_.size() == 1 || bytes >= 40000;
      fs::remove_all(fs::temp_directory_path() / ("tokamak_full_" + std::to_string(getpid())));
      return right && warned;
    })) << bytes;
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
