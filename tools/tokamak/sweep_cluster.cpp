#include "sweep_cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "console.h"

namespace tokamak::tool {

using namespace tokamak::search;

namespace {

/// What this process was started with behind `sweep`, as the system keeps it. In front may be an interpreter, too.
std::vector<std::string> ownArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string one; std::getline(file, one, '\0');) out.push_back(one);
  const auto sweep = std::find(out.begin(), out.end(), "sweep");
  if (sweep != out.end()) out.erase(out.begin(), sweep + 1);
  return out;
}

struct Known {
  const Choice* choice = nullptr;
  const Data* data = nullptr;
};

std::map<std::string, Known> byKey(const std::vector<Searched>& found) {
  std::map<std::string, Known> out;
  for (const Searched& one : found)
    for (const Choice& choice : one.space.choices())
      out.try_emplace(fmt::format("{:016x}", choice.key), Known{&choice, one.model.data.get()});
  return out;
}

}  // namespace

/// Starts the module, or says that this Python has none.
constexpr const char* kDriver = R"(import sys
try:
    from tokamak.sweep import main
except ImportError as error:
    print(f"error T0993: {sys.executable} cannot drive a cluster: {error}", file=sys.stderr)
    print("  hint: name a Python that has tokamak and distributed in TOKAMAK_PYTHON", file=sys.stderr)
    sys.exit(2)
sys.exit(main(sys.argv[1:])))";

Result<Outcome> runOnCluster(const SweepOptions&) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  setenv("TOKAMAK", self.c_str(), 0);
  const char* chosen = std::getenv("TOKAMAK_PYTHON");
  const std::string python = chosen ? chosen : "python3";
  std::vector<std::string> words = {python, "-c", kDriver};
  const std::vector<std::string> given = ownArguments();
  words.insert(words.end(), given.begin(), given.end());
  std::vector<char*> raw;
  raw.reserve(words.size() + 1);
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  execvp(python.c_str(), raw.data());
  return Diagnostic{"T0993",
                    {},
                    fmt::format("cannot start {}: {}", python, std::strerror(errno)),
                    "a cluster is driven from Python: name one that has tokamak and dask in TOKAMAK_PYTHON"};
}

Result<Outcome> listMissing(const std::vector<Searched>& found) {
  nlohmann::ordered_json out = {{"missing", nlohmann::ordered_json::array()}};
  for (const Searched& one : found)
    for (const size_t c : one.outcome.missing)
      out["missing"].push_back(fmt::format("{:016x}", one.space.choices()[c].key));
  say(out.dump() + "\n");
  return Outcome::done;
}

Result<Outcome> simulateForOthers(const SweepOptions& options, const std::vector<Searched>& found) {
  const std::map<std::string, Known> known = byKey(found);
  for (std::string key; std::getline(std::cin, key);) {
    const auto wanted = known.find(key);
    if (wanted == known.end())
      return Diagnostic{"T0994",
                        {"<stdin>", 0, 0},
                        fmt::format("there is no choice {}", key),
                        "driver and workers need the same program, data and options"};
    const Result<Measurement> measured =
        measure(*wanted->second.choice, *wanted->second.data, options.search.simulation);
    if (!measured && cannotRun(measured.error())) {
      say(nlohmann::ordered_json{{"key", key}, {"cannot_run", measured.error().code}}.dump() + "\n");
      continue;
    }
    TK_TRY(const Measurement m, measured);
    const nlohmann::ordered_json line = {{"key", key},
                                         {"cycles", m.cycles},
                                         {"operations", m.operations},
                                         {"bytes_read", m.bytesRead},
                                         {"bytes_written", m.bytesWritten},
                                         {"workspace", m.workspace},
                                         {"tokens", m.tokens},
                                         {"seconds", m.seconds}};
    say(line.dump() + "\n");
  }
  return Outcome::done;
}

Result<Outcome> acceptFromOthers(const std::vector<Searched>& found, Store& store) {
  const std::map<std::string, Known> known = byKey(found);
  int line = 0;
  for (std::string text; std::getline(std::cin, text);) {
    ++line;
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto number = [&](const char* name) { return json.value(name, 0.0); };
    if (!json.is_object() || !json.contains("key") || !known.contains(json.value("key", "")))
      return Diagnostic{"T0994",
                        {"<stdin>", line, 0},
                        "this is no measurement of a choice of this sweep",
                        "driver and workers need the same program, data and options"};
    const Choice& choice = *known.at(json.value("key", "")).choice;
    if (json.contains("cannot_run"))
      store.keep(choice, {.cycles = INFINITY});
    else
      store.keep(choice, {number("cycles"), number("operations"), number("bytes_read"), number("bytes_written"),
                          number("workspace"), number("tokens"), number("seconds")});
  }
  return Outcome::done;
}

}  // namespace tokamak::tool
