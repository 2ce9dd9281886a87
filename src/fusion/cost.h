#pragma once

#include <optional>

#include "fusion/region.h"

namespace tokamak {

/// The value of an extent at the hinted sizes of its symbols (1024 for those without a hint).
double likely(const Dim& dim, const DimBindings& hints);

/// Whether a fold of `folded` elements in each of `kept` rows is shared out in pieces of a row rather than in rows.
/// Looks at sizes alone: a plan that asked for the number of threads would make results depend on it.
constexpr bool isLongFold(double kept, double folded) { return kept < 16 && folded >= 65536; }

/// Rows that meet one matrix in a product with a transposed second operand, where that many are known to: those of all
/// batches when they share it.
std::optional<int64_t> rowsOfMatrix(const Graph& graph, ValueId product);
/// Whether a product takes no longer than a read of its matrix: a generated kernel does that as it lies, where a
/// library packs it first.
bool isFewRows(const Graph& graph, ValueId product);
/// Whether one row of each batch meets a narrow matrix that lies row by row, as the weights of one query do its values:
/// a generated kernel reads it once, where a library call costs more than that.
bool isNarrowRow(const Graph& graph, ValueId product);

}  // namespace tokamak
