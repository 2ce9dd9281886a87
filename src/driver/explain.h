#pragma once

#include <string>
#include <vector>

#include "fusion/ledger.h"
#include "graph/graph.h"

namespace tokamak {

/// What there is to say about one compilation. The graph is the one that was planned, whose nodes the ledger names.
struct Explanation {
  Graph graph;
  Ledger ledger;
  DimBindings dims;                  // the sizes that bytes and times are predicted for
  size_t writtenOps = 0;             // ops of the program as written, before any pass
  std::vector<std::string> kernels;  // text of each region's kernel, in the ledger's order; may be empty
};

/// The ledger in three forms. All are pure functions of the explanation.
///
/// The table is for terminals: a summary, a line a kernel, a line an edge.
///
///   block: 74 ops written, 61 planned, 9 kernels
///   ...
///   edge      ops         decision  bytes    time    rule         reason
///   %3 -> %4  add -> exp  fused     8.39 MB  420 us  same-domain  ...
std::string explainTable(const Explanation& explanation);
/// The table without edges and notes.
std::string explainSummary(const Explanation& explanation);
/// The text of the kernels, each under a line with its number and schedule; nothing for library calls.
std::string explainKernels(const Explanation& explanation);

/// {"graph", "dims", "summary", "kernels": [...], "edges": [...], "notes": [...]}, with values named as in the text.
std::string explainJson(const Explanation& explanation);

/// One self-contained page: summary, the graph drawn with kernels as boxes and bytes on edges, the tables.
std::string explainHtml(const Explanation& explanation);

/// The drawing alone, as an SVG file.
std::string explainSvg(const Explanation& explanation);

/// `0 B`, `512 B`, `8.39 MB`; decimal units, three digits.
std::string formatBytes(double bytes);
/// `0.12 us`, `420 us`, `1.23 ms`, `2.5 s`.
std::string formatMicroseconds(double microseconds);
/// The reduction from `before` to `after`: `5.7x less`, `none`.
std::string formatReduction(double before, double after);

/// Escapes text for HTML and SVG, in content and in quoted attributes.
std::string escapeHtml(std::string_view text);

/// Bytes of a value at the explanation's sizes; symbols without a value count as 1024, as the planner has it.
double bytesOf(const Explanation& explanation, ValueId value);

/// Ops that compute: all but inputs and constants.
size_t computingOps(const Graph& graph);

}  // namespace tokamak
