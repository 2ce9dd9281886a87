#pragma once

#include "fusion/region.h"

namespace tokamak {

/// The value of an extent at the hinted sizes of its symbols (1024 for those without a hint).
double likely(const Dim& dim, const DimBindings& hints);

}  // namespace tokamak
