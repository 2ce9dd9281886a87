#pragma once

#include "sim/report/summary.h"

namespace tokamak::sim {

/// A self-contained HTML page: every graph with its blocks coloured by how busy they were, a timeline (where the run
/// was watched), where cycles were lost, streams, tensors, the critical path.
std::string reportHtml(const Summary& summary);

/// The slices of a window for chrome://tracing or Perfetto: a process a graph, a thread a node, a microsecond a cycle.
/// Graphs that run one after another stand one behind the other.
std::string reportTrace(const Summary& summary);

}  // namespace tokamak::sim
