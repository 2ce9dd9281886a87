#pragma once

#include "graph/interp/ops.h"

namespace tokamak::interp {

/// Gives the float results of a node the rounding errors that some correct implementation might make: see
/// `evaluatePerturbed`.
class Perturbation {
 public:
  explicit Perturbation(uint64_t seed);
  void disturb(const Call& call, Value& result);

 private:
  double error(double epsilon);  // in [-epsilon, epsilon]
  void disturbOperands(const Call& call, Value& result, double epsilon, bool evenExact);

  uint64_t seed_, state_;
};

}  // namespace tokamak::interp
