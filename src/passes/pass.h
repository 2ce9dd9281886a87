#pragma once

#include <concepts>
#include <string_view>

#include "graph/graph.h"

namespace tokamak {

enum class Changed : bool { no, yes };

/// A pass has a name, options as members, and `run`, which leaves a verified graph.
template <class P>
concept Pass = requires(const P& pass, Graph& graph) {
  { P::name } -> std::convertible_to<std::string_view>;
  { pass.run(graph) } -> std::same_as<Result<Changed>>;
};

}  // namespace tokamak
