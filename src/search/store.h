#pragma once

#include <memory>
#include <string>

#include "search/search.h"

struct sqlite3;

namespace tokamak::search {

/// Measurements in an SQLite file, one transaction each: whatever ends the process, what was simulated is kept. Several
/// processes may share a file.
class Store final : public Results {
 public:
  /// Opens or makes the file. `profile` and `machine` are part of what a measurement is of. T0991 where the file cannot
  /// be used or holds something else.
  static Result<std::unique_ptr<Store>> open(const std::string& file, const std::string& profile,
                                             const std::string& machine = {});
  ~Store() override;

  std::optional<Measurement> find(uint64_t key) override;
  void keep(const Choice& choice, const Measurement& measurement) override;
  size_t count();

 private:
  Store(sqlite3* database, std::string profile) : database_(database), profile_(std::move(profile)) {}

  sqlite3* database_;
  std::string profile_;
};

/// Nothing is kept beyond the search.
class NoStore final : public Results {
 public:
  std::optional<Measurement> find(uint64_t) override { return std::nullopt; }
  void keep(const Choice&, const Measurement&) override {}
};

}  // namespace tokamak::search
