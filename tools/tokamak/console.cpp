#include "console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tokamak::tool {

constexpr size_t kLargestFile = size_t{1} << 30;

void report(const Diagnostic& diagnostic, bool json) {
  fmt::print(stderr, "{}\n", diagnostic.str());
  if (!json) return;
  nlohmann::ordered_json error = {{"code", diagnostic.code},          {"file", diagnostic.location.file},
                                  {"line", diagnostic.location.line}, {"column", diagnostic.location.column},
                                  {"message", diagnostic.message},    {"hint", diagnostic.hint}};
  const nlohmann::ordered_json out = {{"error", std::move(error)}};
  say(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

Progress::Progress(std::string_view what) : shown_(isatty(STDERR_FILENO) != 0) { update(what); }

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(std::string_view what) {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K{} ...", what);
  std::fflush(stderr);
}

namespace {

Diagnostic cannotWrite(const std::string& path) {
  return {"T0803", {path, 0, 0}, "cannot write the file", "check the folder and its space"};
}

}  // namespace

Result<std::string> readFile(const std::string& path) {
  auto failure = [&](std::string_view why) {
    return Diagnostic{"T0802",
                      {path, 0, 0},
                      fmt::format("cannot read the file: {}", why),
                      "check the path; `-` reads from standard input"};
  };
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) return failure("it is a folder");
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) return failure(std::strerror(errno));
  std::string text;
  char buffer[1 << 16];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, file)) {
    text.append(buffer, n);
    if (text.size() > kLargestFile) break;
  }
  const bool bad = std::ferror(file) != 0;
  if (file != stdin) std::fclose(file);
  if (bad) return failure(std::strerror(errno));
  if (text.size() > kLargestFile) return failure("it is larger than 1 GiB");
  return text;
}

Result<> writeFile(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return cannotWrite(path);
  sayWritten(path);
  return Unit{};
}

Result<> checkWritable(const std::string& path) {
  std::error_code none;
  const bool there = std::filesystem::exists(path, none);
  const auto folder = std::filesystem::path(path).parent_path();
  const std::string place = there ? path : folder.empty() ? "." : folder.string();
  if (std::filesystem::is_directory(path, none) || ::access(place.c_str(), W_OK) != 0) return cannotWrite(path);
  return Unit{};
}

std::string_view fromFirstWord(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (!text.starts_with("//")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text;
}

void sayWritten(const std::string& path) { fmt::print(stderr, "wrote {}\n", path); }

Result<> makeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return Diagnostic{"T0803",
                      {path, 0, 0},
                      fmt::format("cannot make the folder: {}", error.message()),
                      "choose a folder you may write to"};
  return Unit{};
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace tokamak::tool
