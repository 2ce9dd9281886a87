#pragma once

#include "fusion/region.h"

namespace tokamak {

/// The value of an extent at the hinted sizes of its symbols (1024 for those without a hint).
double likely(const Dim& dim, const DimBindings& hints);

/// Whether a fold of `folded` elements in each of `kept` rows is shared out in pieces of a row rather than in rows.
/// Looks at sizes alone: a plan that asked for the number of threads would make results depend on it.
constexpr bool isLongFold(double kept, double folded) { return kept < 16 && folded >= 65536; }

}  // namespace tokamak
