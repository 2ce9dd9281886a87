#pragma once

#include <functional>

#include "sparse/stream/graph.h"

namespace tokamak::stream {

/// What a picture says of a node besides its block: a second line, what shows when one points at it, and how warm its
/// colour is, from 0 to 1; negative for none.
struct NodeNote {
  std::string line, title;
  double heat = -1;
};
using NodeNotes = std::function<NodeNote(NodeId)>;

/// Graphviz text: `dot -Tpdf`.
std::string drawDot(const Graph& graph);

/// A self-contained SVG: blocks in layers, streams coloured by kind. Requires a verified graph.
std::string drawSvg(const Graph& graph, const NodeNotes& notes = {});

/// &, <, > and quotes as entities.
std::string escapeMarkup(std::string_view text);

}  // namespace tokamak::stream
