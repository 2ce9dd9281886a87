#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "console.h"
#include "driver/engine.h"
#include "driver/explain.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak cache stats                 where it is and how full
  tokamak cache list                  compiled kernels, latest use first
  tokamak cache clear                 forgets them all
  TOKAMAK_CACHE_DIR=/tmp/c tokamak cache stats)";

struct Options {
  std::string folder;
  bool json = false;
};

using Json = nlohmann::ordered_json;

std::string dateOf(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

void list(runtime::KernelCache& cache, bool json) {
  Json out = Json::array();
  std::string text;
  for (const runtime::CacheEntry& entry : cache.list()) {
    out.push_back(
        {{"key", entry.key}, {"bytes", entry.bytes}, {"last_use", entry.lastUse}, {"kernel", entry.description}});
    text += fmt::format("{}  {:>9}  {} UTC  {}\n", entry.key, formatBytes(static_cast<double>(entry.bytes)),
                        dateOf(entry.lastUse), entry.description);
  }
  say(json ? out.dump(2) + "\n" : text.empty() ? "the cache is empty\n" : text);
}

Result<> clear(runtime::KernelCache& cache, bool json) {
  const int64_t dropped = cache.clear();
  const runtime::CacheStats stats = cache.stats();
  if (!stats.warning.empty() && (!stats.onDisk || stats.diskEntries > 0))
    return Diagnostic{"T0803",
                      {stats.file, 0, 0},
                      fmt::format("the cache was not cleared: {}", stats.warning),
                      "name another with --folder or TOKAMAK_CACHE_DIR, or mend its permissions"};
  if (!stats.onDisk && !json) {
    say(fmt::format("nothing to clear: {} is not there\n", stats.file));
    return Unit{};
  }
  say(json ? Json{{"dropped", dropped}}.dump(2) + "\n"
           : fmt::format("dropped {} kernel{}\n", dropped, dropped == 1 ? "" : "s"));
  return Unit{};
}

void stats(runtime::KernelCache& cache, bool json) {
  const runtime::CacheStats stats = cache.stats();
  const int64_t limit = runtime::KernelCacheOptions{}.diskLimitBytes;
  if (json) {
    const Json out = {{"file", stats.file},       {"on_disk", stats.onDisk}, {"entries", stats.diskEntries},
                      {"bytes", stats.diskBytes}, {"limit_bytes", limit},    {"warning", stats.warning}};
    return say(out.dump(2) + "\n");
  }
  if (!stats.onDisk)
    return say(fmt::format("no cache on disk: {}\n", !stats.warning.empty() ? stats.warning
                                                     : stats.file.empty()   ? "none is wanted"
                                                                            : stats.file + " is not there yet"));
  say(fmt::format("{}: {} kernel{}, {} of at most {}\n", stats.file, stats.diskEntries,
                  stats.diskEntries == 1 ? "" : "s", formatBytes(static_cast<double>(stats.diskBytes)),
                  formatBytes(static_cast<double>(limit))));
}

}  // namespace

Command addCache(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("cache", "Look at the cache of compiled kernels, or clear it");
  app->footer(kFooter);
  app->require_subcommand(1);
  app->fallthrough();
  app->add_option("--folder", options->folder, "Where the cache is, if not in the usual place")
      ->type_name("DIR")
      ->check([](const std::string& folder) { return std::string(folder.empty() ? "a folder has a name" : ""); });
  app->add_flag("--json", options->json, "Print JSON");
  CLI::App* listing = app->add_subcommand("list", "List the kernels in it");
  CLI::App* clearing = app->add_subcommand("clear", "Forget them all");
  app->add_subcommand("stats", "Say where it is and how full");
  return {app, [=]() -> Result<Outcome> {
            runtime::KernelCacheOptions cacheOptions;
            cacheOptions.folder = options->folder.empty() ? defaultCacheFolder() : options->folder;
            cacheOptions.make = false;  // to ask is not to begin one
            cacheOptions.warn = [](std::string_view text) { fmt::print(stderr, "tokamak: warning: {}\n", text); };
            runtime::KernelCache cache(cacheOptions);
            if (listing->parsed())
              list(cache, options->json);
            else if (clearing->parsed())
              TK_RETURN_IF_ERROR(clear(cache, options->json));
            else
              stats(cache, options->json);
            return Outcome::done;
          }};
}

}  // namespace tokamak::tool
