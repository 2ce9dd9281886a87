#pragma once

#include <functional>
#include <random>

#include "sparse/einsum/evaluate.h"
#include "sparse/schedule/schedule.h"

namespace tokamak::sparse {

/// A program with sizes, a schedule and inputs, all at random: every op, fold and format, sizes from 0 up, densities
/// from 0 to 1. Values stay finite, so results can be compared closely. Orders of loops are drawn until they can run.
struct RandomCase {
  Program program;
  Schedule schedule;
  Bindings inputs;
  std::vector<Schedule> refused;  // drawn before, with orders in which some fold cannot be streamed

  /// The program, the schedule and the inputs' entries, to be read in a failure.
  std::string str() const;
};

RandomCase randomCase(uint64_t seed);

/// Inputs of the declared formats with that share of entries.
Bindings randomInputs(const Program& program, double density, std::mt19937_64& random);

/// A permutation of the variables of each region, as the schedule's orders. `foldsInside`: one of those in which folds
/// come behind the variables of their results, as most orders of large regions that can run are.
void randomOrders(const Program& program, Schedule& schedule, std::mt19937_64& random, bool foldsInside = false);

/// A smaller case that still fails: statements dropped, expressions replaced by their operands, schedules simplified,
/// entries removed.
RandomCase shrink(RandomCase failing, const std::function<bool(const RandomCase&)>& fails);

}  // namespace tokamak::sparse
