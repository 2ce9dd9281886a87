#include "runtime/trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak::runtime {

namespace {

double gigabytesPerSecond(const Profile::Entry& entry) {
  return entry.nanoseconds > 0 ? static_cast<double>(entry.predictedBytes) / static_cast<double>(entry.nanoseconds) : 0;
}

std::string inQuotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

}  // namespace

std::string profileTable(const Profile& profile, double copyBytesPerSecond) {
  size_t width = 6;
  int64_t total = 0;
  for (const auto& entry : profile.entries) width = std::max(width, entry.name.size()), total += entry.nanoseconds;
  std::string out = fmt::format("{:<{}}  {:>12}  {:>6}  {:>12}  {:>8}{}\n", "step", width, "time (us)", "share",
                                "bytes (MB)", "GB/s", copyBytesPerSecond > 0 ? "  of a copy" : "");
  for (const auto& entry : profile.entries) {
    if (entry.skipped) {
      out += fmt::format("{:<{}}  nothing to do\n", entry.name, width);
      continue;
    }
    const double rate = gigabytesPerSecond(entry);
    out +=
        fmt::format("{:<{}}  {:>12.2f}  {:>5.1f}%  {:>12.3f}  {:>8.1f}", entry.name, width,
                    static_cast<double>(entry.nanoseconds) / 1e3,
                    100.0 * static_cast<double>(entry.nanoseconds) / static_cast<double>(std::max<int64_t>(1, total)),
                    static_cast<double>(entry.predictedBytes) / 1e6, rate);
    if (copyBytesPerSecond > 0) out += fmt::format("  {:>9.2f}", rate * 1e9 / copyBytesPerSecond);
    out += '\n';
  }
  return out + fmt::format("{:<{}}  {:>12.2f}\n", "all", width, static_cast<double>(total) / 1e3);
}

std::string chromeTrace(const Profile& profile, std::string_view program) {
  std::string out = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  out += fmt::format("  {{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {{\"name\": {}}}}}",
                     inQuotes(program));
  int64_t at = 0;
  for (const auto& entry : profile.entries) {
    if (entry.skipped) continue;
    out += fmt::format(
        ",\n  {{\"name\": {}, \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3f}, \"dur\": {:.3f}, \"args\": "
        "{{\"bytes\": {}, \"GB/s\": {:.1f}}}}}",
        inQuotes(entry.name), static_cast<double>(at) / 1e3, static_cast<double>(entry.nanoseconds) / 1e3,
        entry.predictedBytes, gigabytesPerSecond(entry));
    at += entry.nanoseconds;
  }
  return out + "\n]}\n";
}

}  // namespace tokamak::runtime
