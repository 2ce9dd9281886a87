#pragma once

#include "support/npy.h"

namespace tokamak::runtime {

using tokamak::formatNpy;
using tokamak::parseNpy;
using tokamak::readNpy;
using tokamak::writeNpy;

}  // namespace tokamak::runtime
