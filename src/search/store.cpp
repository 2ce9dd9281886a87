#include "search/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include "support/hash.h"

namespace tokamak::search {

namespace {

constexpr int kSchema = 1;
constexpr const char* kMake =
    "CREATE TABLE IF NOT EXISTS measurements("
    " key INTEGER NOT NULL, profile TEXT NOT NULL, region TEXT NOT NULL, choice TEXT NOT NULL,"
    " cycles REAL NOT NULL, operations REAL NOT NULL, bytes_read REAL NOT NULL, bytes_written REAL NOT NULL,"
    " workspace REAL NOT NULL, tokens REAL NOT NULL, seconds REAL NOT NULL, blocks INTEGER NOT NULL,"
    " estimated_cycles REAL NOT NULL, PRIMARY KEY(key, profile));"
    "PRAGMA user_version=1";

class Statement {
 public:
  Statement(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(double value) { return sqlite3_bind_double(statement_, ++at_, value), *this; }
  Statement& bind(int64_t value) { return sqlite3_bind_int64(statement_, ++at_, value), *this; }
  Statement& bind(const std::string& value) {
    sqlite3_bind_text(statement_, ++at_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  int step() { return statement_ ? sqlite3_step(statement_) : SQLITE_ERROR; }
  double number(int column) { return sqlite3_column_double(statement_, column); }
  int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int at_ = 0;
};

std::string textOf(const sparse::RegionSchedule& wish) {
  std::string out = fmt::format("order {}", fmt::join(wish.order, ", "));
  for (const auto& [var, lanes] : wish.parallel) out += fmt::format(" parallel {} {}", var, lanes);
  if (!wish.iterate.empty()) out += fmt::format(" iterate {}", fmt::join(wish.iterate, ", "));
  return out;
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& file, const std::string& profile,
                                           const std::string& machine) {
  sqlite3* database = nullptr;
  const auto refuse = [&](const std::string& why) -> Diagnostic {
    sqlite3_close_v2(database);
    return {"T0991",
            {file, 0, 0},
            fmt::format("the results cannot be kept there: {}", why),
            "give another file with --database; it is made where it does not exist"};
  };
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(file.c_str(), &database, flags, nullptr) != SQLITE_OK) return refuse(sqlite3_errmsg(database));
  sqlite3_busy_timeout(database, 10000);
  if (sqlite3_exec(database, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr) != SQLITE_OK)
    return refuse(sqlite3_errmsg(database));
  int64_t version = -1, tables = 0;
  if (Statement s(database, "PRAGMA user_version"); s.step() == SQLITE_ROW) version = s.integer(0);
  if (Statement s(database, "SELECT count(*) FROM sqlite_master"); s.step() == SQLITE_ROW) tables = s.integer(0);
  if (version != kSchema && (version != 0 || tables != 0)) return refuse("it is another program's database");
  if (sqlite3_exec(database, kMake, nullptr, nullptr, nullptr) != SQLITE_OK) return refuse(sqlite3_errmsg(database));
  const std::string name = machine.empty() ? profile : fmt::format("{} {:016x}", profile, hashBytes(machine));
  return std::unique_ptr<Store>(new Store(database, name));
}

Store::~Store() { sqlite3_close_v2(database_); }

std::optional<Measurement> Store::find(uint64_t key) {
  Statement s(database_,
              "SELECT cycles, operations, bytes_read, bytes_written, workspace, tokens, seconds FROM measurements"
              " WHERE key = ?1 AND profile = ?2");
  s.bind(static_cast<int64_t>(key)).bind(profile_);
  if (s.step() != SQLITE_ROW) return std::nullopt;
  return Measurement{s.number(0), s.number(1), s.number(2), s.number(3), s.number(4), s.number(5), s.number(6)};
}

void Store::keep(const Choice& choice, const Measurement& m) {
  Statement s(database_, "INSERT OR REPLACE INTO measurements VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)");
  s.bind(static_cast<int64_t>(choice.key))
      .bind(profile_)
      .bind(fmt::format("{}", fmt::join(choice.wish.tensors, ", ")))
      .bind(textOf(choice.wish));
  for (const double value : {m.cycles, m.operations, m.bytesRead, m.bytesWritten, m.workspace, m.tokens, m.seconds})
    s.bind(value);
  s.bind(static_cast<int64_t>(choice.blocks)).bind(choice.estimate.cycles);
  s.step();
}

size_t Store::count() {
  Statement s(database_, "SELECT count(*) FROM measurements");
  return s.step() == SQLITE_ROW ? static_cast<size_t>(s.integer(0)) : 0;
}

}  // namespace tokamak::search
