#include "runtime/disk_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "support/hash.h"

namespace tokamak::runtime {

namespace {

constexpr int kSchemaVersion = 1;
constexpr int64_t kTouchAfterSeconds = 60;  // a use is written down at most this often
constexpr int kMostRefusals = 3;            // by other processes' locks, before the disk is left alone

int64_t now() { return static_cast<int64_t>(std::time(nullptr)); }

int64_t checksum(std::string_view key, std::string_view blob) {
  return static_cast<int64_t>(hashMix(hashBytes(key), hashBytes(blob)));
}

uint64_t inodeOf(const std::string& file) {
  struct stat info{};
  return stat(file.c_str(), &info) == 0 ? info.st_ino : 0;
}

std::string_view text(sqlite3_stmt* statement, int column) {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, column));
  return {data ? data : "", static_cast<size_t>(sqlite3_column_bytes(statement, column))};
}

void bindText(sqlite3_stmt* statement, int index, std::string_view value) {
  sqlite3_bind_text64(statement, index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

/// Ends the use of a statement: locks are let go of.
struct Use {
  sqlite3_stmt* statement;
  explicit Use(sqlite3_stmt* s) : statement(s) {}
  ~Use() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};

bool isDamage(int code) {
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_SCHEMA || code == SQLITE_FORMAT;
}
bool isLock(int code) { return code == SQLITE_BUSY || code == SQLITE_LOCKED; }

}  // namespace

DiskStore::DiskStore(const KernelCacheOptions& options, Warn warn) : options_(options), warn_(std::move(warn)) {
  if (options_.folder.empty()) return;
  file_ = options_.folder + "/kernels.db";
  std::error_code error;
  if (!options_.make && std::filesystem::status(file_, error).type() == std::filesystem::file_type::not_found) return;
  std::filesystem::create_directories(options_.folder, error);
  if (error) {
    warn_(
        fmt::format("the kernel cache cannot use {}: {}; kernels are not kept (TOKAMAK_CACHE_DIR names another folder)",
                    options_.folder, error.message()));
    return;
  }
  if (const int code = open(); code != SQLITE_OK) failed(code, "open");
}

DiskStore::~DiskStore() { close(); }

bool DiskStore::inherited() const { return process_ != getpid(); }

void DiskStore::close() {
  if (database_ && inherited()) {  // the parent's: closing it here would let go of the parent's locks
    for (Statement* s : {&find_, &insert_, &touch_, &remove_, &oldest_}) std::ignore = s->release();
    database_ = nullptr;
    return;
  }
  for (Statement* s : {&find_, &insert_, &touch_, &remove_, &oldest_}) s->reset();
  if (database_) sqlite3_close_v2(database_);
  database_ = nullptr;
}

int DiskStore::execute(const char* sql) { return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) & 0xff; }
int DiskStore::step(sqlite3_stmt* statement) { return sqlite3_step(statement) & 0xff; }

int DiskStore::open() {
  process_ = getpid();
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(file_.c_str(), &database_, flags, nullptr) & 0xff;
  if (code != SQLITE_OK) return code;
  inode_ = inodeOf(file_);
  sqlite3_busy_timeout(database_, options_.busyTimeoutMs);
  // The first switch to WAL wants the file for itself and does not wait for it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.busyTimeoutMs);
  while (isLock(code = execute("PRAGMA journal_mode=WAL")) && std::chrono::steady_clock::now() < deadline) usleep(1000);
  if (code != SQLITE_OK) return code;
  // A power cut may lose the last entries; checksums find what it spoils.
  if (code = execute("PRAGMA synchronous=OFF"); code != SQLITE_OK) return code;
  if (code = prepareSchema(); code != SQLITE_OK) return code;
  return prepareStatements();
}

int DiskStore::prepareSchema() {
  const int64_t version = number("PRAGMA user_version");
  if (version == kSchemaVersion) return SQLITE_OK;
  if (version < 0) return sqlite3_errcode(database_) & 0xff;
  const std::string sql = fmt::format(
      "BEGIN IMMEDIATE;"
      "CREATE TABLE IF NOT EXISTS entries(key TEXT PRIMARY KEY, description TEXT NOT NULL, bytes INTEGER NOT NULL,"
      " checksum INTEGER NOT NULL, last_use INTEGER NOT NULL, blob BLOB NOT NULL);"
      "CREATE INDEX IF NOT EXISTS by_use ON entries(last_use, bytes);"
      "PRAGMA user_version={};"
      "COMMIT",
      kSchemaVersion);
  if (version != 0) return SQLITE_FORMAT;  // another program's, or another time's
  const int code = execute(sql.c_str());
  if (code != SQLITE_OK) execute("ROLLBACK");
  return code;
}

int DiskStore::prepareStatements() {
  const std::pair<Statement*, const char*> statements[] = {
      {&find_, "SELECT blob, checksum, last_use FROM entries WHERE key = ?1"},
      {&insert_,
       "INSERT OR REPLACE INTO entries(key, description, bytes, checksum, last_use, blob) VALUES(?1,?2,?3,?4,?5,?6)"},
      {&touch_, "UPDATE entries SET last_use = ?2 WHERE key = ?1"},
      {&remove_, "DELETE FROM entries WHERE key = ?1"},
      {&oldest_, "SELECT key, bytes FROM entries ORDER BY last_use, bytes LIMIT 1"}};
  for (const auto& [statement, sql] : statements) {
    sqlite3_stmt* prepared = nullptr;
    int code = sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) & 0xff;
    statement->reset(prepared);
    if (code == SQLITE_ERROR) code = SQLITE_FORMAT;  // a table that is not ours
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

int64_t DiskStore::number(const char* sql) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database_, sql, -1, &prepared, nullptr) != SQLITE_OK) return -1;
  const Statement statement(prepared);
  return step(prepared) == SQLITE_ROW ? sqlite3_column_int64(prepared, 0) : -1;
}

bool DiskStore::moveAside() {
  const bool mine = inode_ == 0 || inodeOf(file_) == inode_;  // else another process has done it already
  close();
  if (!mine) return true;
  for (const char* suffix : {"-wal", "-shm"}) unlink((file_ + suffix).c_str());
  return std::rename(file_.c_str(), (file_ + ".damaged").c_str()) == 0;
}

void DiskStore::failed(int code, std::string_view doing) {
  const std::string why = database_ ? sqlite3_errmsg(database_) : sqlite3_errstr(code);
  if (isDamage(code) && !repaired_) {
    repaired_ = true;  // once: a disk that damages files again is left alone
    warn_(fmt::format("the kernel cache {} is damaged or of another version ({}): moved aside and begun anew", file_,
                      why));
    if (moveAside() && open() == SQLITE_OK) return;
    close();
    return;
  }
  warn_(fmt::format("the kernel cache cannot {} {}: {}", doing, file_, why));
  if (isLock(code) && database_ && find_ && ++refusals_ < kMostRefusals) return;
  close();
}

std::optional<std::string> DiskStore::get(std::string_view key) {
  if (!on()) return std::nullopt;
  std::optional<std::string> blob;
  int64_t sum = 0, lastUse = 0;
  int code = 0;
  {
    const Use use(find_.get());
    bindText(find_.get(), 1, key);
    code = step(find_.get());
    if (code == SQLITE_ROW) {
      blob = std::string(text(find_.get(), 0));
      sum = sqlite3_column_int64(find_.get(), 1);
      lastUse = sqlite3_column_int64(find_.get(), 2);
    }
  }
  if (code == SQLITE_DONE) return std::nullopt;
  if (code != SQLITE_ROW) {
    failed(code, "read");
    return std::nullopt;
  }
  if (sum != checksum(key, *blob)) {
    warn_(fmt::format("the kernel cache {} holds a damaged entry: compiled anew", file_));
    const Use use(remove_.get());
    bindText(remove_.get(), 1, key);
    step(remove_.get());
    return std::nullopt;
  }
  if (now() - lastUse > kTouchAfterSeconds || now() < lastUse) touch(key);
  return blob;
}

/// Failure only makes an entry look older than it is.
void DiskStore::touch(std::string_view key) {
  sqlite3_busy_timeout(database_, 0);
  {
    const Use use(touch_.get());
    bindText(touch_.get(), 1, key);
    sqlite3_bind_int64(touch_.get(), 2, now());
    step(touch_.get());
  }
  sqlite3_busy_timeout(database_, options_.busyTimeoutMs);
}

int64_t DiskStore::evict(int64_t incoming) {
  int64_t total = number("SELECT TOTAL(bytes) FROM entries"), dropped = 0;
  while (total + incoming > options_.diskLimitBytes) {
    std::string key;
    {
      const Use use(oldest_.get());
      if (step(oldest_.get()) != SQLITE_ROW) break;
      key = text(oldest_.get(), 0);
      total -= sqlite3_column_int64(oldest_.get(), 1);
    }
    const Use use(remove_.get());
    bindText(remove_.get(), 1, key);
    if (step(remove_.get()) != SQLITE_DONE) break;
    ++dropped;
  }
  return dropped;
}

int64_t DiskStore::put(std::string_view key, std::string_view blob, std::string_view description) {
  const auto bytes = static_cast<int64_t>(blob.size());
  if (!on() || bytes > options_.diskLimitBytes) return 0;
  int code = execute("BEGIN IMMEDIATE");
  if (code != SQLITE_OK) {
    failed(code, "write");
    return 0;
  }
  const int64_t dropped = evict(bytes);
  {
    const Use use(insert_.get());
    bindText(insert_.get(), 1, key);
    bindText(insert_.get(), 2, description);
    sqlite3_bind_int64(insert_.get(), 3, bytes);
    sqlite3_bind_int64(insert_.get(), 4, checksum(key, blob));
    sqlite3_bind_int64(insert_.get(), 5, now());
    sqlite3_bind_blob64(insert_.get(), 6, blob.data() ? blob.data() : "", blob.size(), SQLITE_STATIC);
    code = step(insert_.get());
  }
  if (code == SQLITE_DONE) code = execute("COMMIT");
  if (code == SQLITE_OK) return dropped;
  failed(code, "write");
  if (on() && !sqlite3_get_autocommit(database_)) execute("ROLLBACK");
  return 0;
}

std::vector<CacheEntry> DiskStore::list() {
  std::vector<CacheEntry> out;
  if (!on()) return out;
  sqlite3_stmt* prepared = nullptr;
  int code =
      sqlite3_prepare_v2(database_, "SELECT key, description, bytes, last_use FROM entries ORDER BY last_use DESC, key",
                         -1, &prepared, nullptr);
  Statement statement(prepared);
  while (code == SQLITE_OK && (code = step(prepared)) == SQLITE_ROW) {
    out.push_back({std::string(text(prepared, 0)), std::string(text(prepared, 1)), sqlite3_column_int64(prepared, 2),
                   sqlite3_column_int64(prepared, 3)});
    code = SQLITE_OK;
  }
  statement.reset();
  if (code != SQLITE_DONE) failed(code & 0xff, "read");
  return out;
}

int64_t DiskStore::clear() {
  if (!on()) return 0;
  const int64_t count = number("SELECT COUNT(*) FROM entries");
  if (const int code = execute("DELETE FROM entries"); code != SQLITE_OK) {
    failed(code, "clear");
    return 0;
  }
  execute("VACUUM");
  return std::max<int64_t>(0, count);
}

std::pair<int64_t, int64_t> DiskStore::totals() {
  if (!on()) return {0, 0};
  return {std::max<int64_t>(0, number("SELECT COUNT(*) FROM entries")),
          std::max<int64_t>(0, number("SELECT TOTAL(bytes) FROM entries"))};
}

}  // namespace tokamak::runtime
