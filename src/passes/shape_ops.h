#pragma once

#include <optional>

#include "passes/emitter.h"

namespace tokamak {

/// Reshapes, transposes and broadcasts made with a look at what they apply to. Each `simplify...` gives a value that
/// equals the op on x and is simpler than it, or an invalid one; the others append the op in that case. They see:
///   - ops that change nothing;
///   - chains: reshape of reshape, transpose of transpose, broadcast of broadcast or of a reshape by unit axes;
///   - full and iota, which take any shape, and constants of one element;
///   - a broadcast below a reshape or transpose: the repeated axes follow, and the small operand moves instead;
///   - a transpose that moves only axes of extent 1: a reshape.
ValueId simplifyReshape(Emitter& emit, ValueId x, const Shape& shape);
ValueId simplifyTranspose(Emitter& emit, ValueId x, const std::vector<Axis>& perm);
ValueId simplifyBroadcast(Emitter& emit, ValueId x, const std::vector<Axis>& axes, const Shape& shape);

ValueId reshaped(Emitter& emit, ValueId x, const Shape& shape);
ValueId transposed(Emitter& emit, ValueId x, const std::vector<Axis>& perm);
ValueId broadcasted(Emitter& emit, ValueId x, const std::vector<Axis>& axes, const Shape& shape);

/// The number every element of v has: of a Full, or of a Constant with one element.
std::optional<Scalar> splatOf(const Graph& graph, ValueId v);

/// Whether v is a transpose of the last two axes only.
bool swapsLastTwo(const Graph& graph, ValueId v);

}  // namespace tokamak
