#pragma once

#include <functional>

#include "sparse/cost/estimate.h"

namespace tokamak::sparse {

/// The data behind a tensor of a table, in the table's format.
using TensorOf = std::function<const Tensor*(const TableTensor& tensor)>;

/// What a table costs, counted on the stored structure of what it reads without running it. Every stream is followed by
/// how often each stored position and each coordinate passes, so walks, located rows and whatever is computed again
/// below them are counted exactly; where operands meet, and where results pile up in a workspace, coordinates are taken
/// as independent, each with its own frequency. Time goes by the stored entries, whatever the length of the streams.
///
/// Operations are values computed or folded, bytes four for each position, coordinate and value touched, as the
/// simulator counts them. `cycles` follows the first and the last token through the graph, each block as busy as its
/// tokens keep it under the rules of `comal`; `cyclesWithMemory` under those of `comal-hbm`.
/// `written`: values stored, by result.
Estimate count(const Table& table, const TensorOf& tensorOf, std::map<std::string, double>* written = nullptr);

}  // namespace tokamak::sparse
