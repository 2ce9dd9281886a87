#pragma once

#include <cstddef>
#include <functional>

#include "support/result.h"

namespace tokamak {

/// Does `work` for 0, 1, ... count - 1 on as many threads as there are cores; the first failure, by number, is
/// returned, and what one of them throws is thrown here once all are done.
Result<> forEachInParallel(size_t count, const std::function<Result<>(size_t)>& work);

}  // namespace tokamak
