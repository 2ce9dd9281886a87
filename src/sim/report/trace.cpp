#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/critical_path.h"
#include "sim/report/page.h"

namespace tokamak::sim {

namespace {

using Json = nlohmann::ordered_json;

WaitKind waitOf(stream::Doing doing) {
  switch (doing) {
    case stream::Doing::busy: return WaitKind::none;
    case stream::Doing::input: return WaitKind::input;
    case stream::Doing::output: return WaitKind::output;
    case stream::Doing::memory: return WaitKind::memory;
    case stream::Doing::compute: return WaitKind::compute;
  }
  return WaitKind::none;
}

Json named(std::string_view what, size_t process, size_t thread, const std::string& name) {
  return {{"ph", "M"}, {"pid", process}, {"tid", thread}, {"name", what}, {"args", {{"name", name}}}};
}

void addPart(Json& events, const Part& part, size_t process, uint64_t start) {
  events.push_back(named("process_name", process, 0, "@" + part.graph.name));
  for (const NodeReport& node : part.report.nodes) {
    const size_t thread = node.node.index;
    const std::string block = stream::describe(part.graph.node(node.node).block);
    events.push_back(named("thread_name", process, thread, fmt::format("{} {}", thread, block)));
    for (const stream::Slice& slice : node.slices) {
      const WaitKind kind = waitOf(slice.doing);
      const bool busy = kind == WaitKind::none;
      const std::string name =
          busy ? block : "waits for " + describe(part.graph, node.node, {kind, slice.port, slice.to - slice.from});
      events.push_back({{"ph", "X"},
                        {"pid", process},
                        {"tid", thread},
                        {"ts", start + slice.from},
                        {"dur", slice.to - slice.from},
                        {"name", name},
                        {"cat", busy ? "busy" : "stall"}});
    }
  }
}

}  // namespace

std::string reportTrace(const Summary& summary) {
  Json events = Json::array();
  uint64_t start = 0;
  for (size_t i = 0; i < summary.parts.size(); ++i) {
    addPart(events, summary.parts[i], i + 1, start);
    start += summary.parts[i].report.cycles;
  }
  const Json out = {{"displayTimeUnit", "ns"},
                    {"otherData", {{"program", summary.name}, {"profile", summary.profile}, {"unit", "cycles"}}},
                    {"traceEvents", std::move(events)}};
  return out.dump();
}

}  // namespace tokamak::sim
