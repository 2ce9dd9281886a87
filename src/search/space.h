#pragma once

#include "search/data.h"
#include "sparse/cost/estimate.h"
#include "sparse/schedule/schedule.h"
#include "sparse/stream/graph.h"

namespace tokamak::search {

using Formats = std::map<std::string, sparse::Format>;  // of temps, by name

/// One way to run one set of statements as a region: what is estimated and simulated.
struct Choice {
  std::vector<size_t> statements;
  sparse::RegionSchedule wish;  // the whole order, lanes, what is iterated: a schedule of these gives this graph again
  Formats reads, writes;        // how temps are stored that it reads and writes
  sparse::Table table;
  stream::Graph graph;
  sparse::Estimate estimate;
  uint64_t key = 0;      // names the graph together with the structure of what it reads
  size_t blocks = 0;     // nodes of the graph: its area
  size_t copies = 0;     // inputs that are read from a permuted copy
  size_t spellings = 1;  // orders that gave this same graph
};

/// A program half done: which statements are, and how the temps are stored that the others still read.
struct State {
  uint64_t done = 0;
  Formats live;
  struct Step {
    size_t choice = 0, next = 0;
  };
  std::vector<Step> steps;
};

struct SpaceOptions {
  size_t ordersPerRegion = 64;
  bool allOrders = false;        // every permutation of a region's variables, inputs copied where they contradict it
  std::vector<int> lanes = {1};  // factors to try
  int parallelLevels = 1;        // variables of a region that run in lanes at once, at most
  bool iterate = true;           // try walking dense operands as well as locating
  size_t mostBlocks = SIZE_MAX;  // area of a region's graph
  double mostWorkspace = 1e300;  // entries of a region's accumulators
  size_t mostChoices = 20000;
};

/// All legal ways to cut a program into regions and to run each of them, as a graph of states: a path from the first
/// state to the last is a schedule. Requires sizes, formats of inputs and outputs, and data for every tensor.
class Space {
 public:
  static Result<Space> explore(const sparse::Program& program, const Data& data, const SpaceOptions& options);

  const std::vector<State>& states() const { return states_; }  // the first is the beginning; steps lead forward
  const std::vector<Choice>& choices() const { return choices_; }
  size_t last() const { return last_; }
  size_t regions() const { return regions_; }  // sets of statements that can run together
  bool cut() const { return cut_; }            // more than mostChoices: the rest was left out

 private:
  friend class Explorer;
  std::vector<State> states_;
  std::vector<Choice> choices_;
  size_t last_ = 0, regions_ = 0;
  bool cut_ = false;
};

}  // namespace tokamak::search
