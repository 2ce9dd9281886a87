#pragma once

#include "search/measure.h"
#include "search/plan.h"

namespace tokamak::search {

struct SearchOptions {
  sim::Options simulation;
  double margin = 0.15;     // by how much estimates may be too high before something good is missed
  double share = 0.1;       // of the choices, at most to be simulated
  bool exhaustive = false;  // simulate all
  bool front = true;        // also look for the best plans of smaller area
  bool deferred = false;    // simulate nothing: what is missing is listed, for others to simulate
  int threads = 1;
  std::function<bool(size_t simulated, size_t allowed)> progress;  // false: end with what is known
};

/// Measurements that are kept between searches, by the key of the choice.
class Results {
 public:
  virtual ~Results() = default;
  virtual std::optional<Measurement> find(uint64_t key) = 0;
  virtual void keep(const Choice& choice, const Measurement& measurement) = 0;
};

/// A plan that no other beats both in cycles and in area.
struct FrontPoint {
  Plan plan;
  size_t blocks = 0;     // of its largest region: the area that all of them fit in
  double workspace = 0;  // entries of its largest accumulator
  double bytes = 0;      // read and written
};

struct Outcome {
  std::vector<std::optional<Measurement>> measured;  // by choice; infinite where it was ended as too long to matter
  size_t simulated = 0;                              // choices that were decided by a measurement, of now or earlier
  size_t confirmed = 0;                              // choices of the best plan that were measured once it was chosen
  size_t fresh = 0;                                  // of this one
  size_t allowed = 0;                                // to be simulated
  std::vector<size_t> missing;                       // of a deferred search: choices to simulate before it can go on
  std::optional<Plan> best;                          // of simulated choices alone
  std::vector<FrontPoint> front;                     // fewest cycles first
  bool complete = true;                              // false: ended early; the same search goes on from here
};

/// What the cost model says a choice takes under a profile.
double estimatedCycles(const Choice& choice, const sim::Options& simulation);

/// Looks for the plan of fewest cycles. Estimates, lowered by `margin`, stand for what has not been simulated; the plan
/// that is best then is simulated where it has not been, until the best plan is known throughout or `share` is spent.
/// Estimates of regions that have been simulated in one order are corrected by it in the others. Where `share` is too
/// little for one plan, estimates choose, as far as they are not measured, and the plan is measured when it is chosen.
Result<Outcome> search(const Space& space, const Data& data, const SearchOptions& options, Results& results);

}  // namespace tokamak::search
