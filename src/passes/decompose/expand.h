#pragma once

#include "passes/emitter.h"

namespace tokamak {

/// Each emits the primitives of one composite and returns the value that has its result's type. `node`'s operands are
/// values of the emitter's graph.
ValueId expandSoftmax(Emitter& emit, const Node& node, const Softmax& op);
Result<ValueId> expandNorm(Emitter& emit, const Node& node, const Norm& op);
ValueId expandActivation(Emitter& emit, const Node& node, const Activation& op);
ValueId expandCrossEntropy(Emitter& emit, const Node& node, const CrossEntropy& op);
ValueId expandDropout(Emitter& emit, const Node& node, const Dropout& op);
ValueId expandAttention(Emitter& emit, const Node& node, const Attention& op);
ValueId expandVariance(Emitter& emit, const Node& node, const Reduce& op);

/// x less its maximum over `axis`, and the logarithm-free pieces of a softmax: exp of that and its sum over `axis`. If
/// `flushed`, exponentials below the least normal number are zero.
struct SoftmaxParts {
  ValueId maximum, shifted, exponential, sum;
};
SoftmaxParts softmaxParts(Emitter& emit, ValueId x, Axis axis, bool flushed = false);

/// Mean over `axes`, x less it, and the mean of the squares of that, by two sweeps.
struct Moments {
  ValueId mean, centred, variance;
};
Moments moments(Emitter& emit, ValueId x, const std::vector<Axis>& axes);

}  // namespace tokamak
