#pragma once

#include "sparse/stream/graph.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

/// The stream graph of a table: a block for each cell, broadcasts where a stream has several readers. Verified.
Result<stream::Graph> toStream(const Table& table);

}  // namespace tokamak::sparse
