#include <cstdint>
#include <string_view>

#include "graph/graph.h"
#include "support/check.h"

/// Any bytes parse to a verified graph that prints and parses back equal, or to a diagnostic with code, place and hint.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tokamak;
  const auto graph = parseGraph({reinterpret_cast<const char*>(data), size}, "fuzz.tk");
  if (graph) {
    const auto again = parseGraph(print(*graph));
    TK_CHECK(again.ok() && *again == *graph, "print and parse do not agree");
  } else {
    TK_CHECK(!graph.error().code.empty() && !graph.error().hint.empty(), "a diagnostic lacks its code or hint");
    TK_CHECK(graph.error().location.line > 0 && graph.error().location.column > 0, "a diagnostic has no place");
  }
  return 0;
}
