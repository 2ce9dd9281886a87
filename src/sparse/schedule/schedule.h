#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sparse/einsum/program.h"
#include "sparse/einsum/syntax.h"

namespace tokamak::sparse {

/// How one region runs. Variables are named as in the region's fused program (`tokamak sparse explain` lists them); one
/// that blocks split, i_o and i_i, may also be named i.
struct RegionSchedule {
  std::vector<std::string> tensors;  // whose statements are fused
  std::vector<std::string> order;    // outermost first; variables that are not named are placed by the compiler
  std::vector<std::pair<std::string, int>> parallel;
  std::vector<std::pair<std::string, int64_t>> blocks;  // loops in two: over blocks of this size, and inside one
  std::vector<std::string> iterate;                     // tensors whose dense levels are walked, not located
  std::vector<std::string> locate;                      // and those that are located, as all others are
  Location location;

  bool fixesLoops() const { return !order.empty() || !parallel.empty() || !blocks.empty() || !iterate.empty(); }
};

/// What runs together and how. It stands in the program's file or in one of its own:
///
///   schedule layers {
///     fuse {T, Y} { order i, k, h  parallel i 4, k 2  iterate X }
///     fuse {Z}    { block i 16  order i_o, j, i_i  locate X }
///     format T csr
///     block A 16, 16
///     spill S
///     algebra off
///   }
///
/// Statements that no `fuse` names are regions of their own; `fuse all` makes one region of everything, `fuse auto`
/// lets the cost model choose. `algebra all` rewrites the program before it is cut into regions, as `fuse auto` does;
/// without it products are re-associated inside regions only. With `cut`, a region that cannot run as one, or would do
/// far more work than its statements one by one, is cut into the longest runs that can; regions whose loops are fixed
/// are left whole.
struct Schedule {
  std::string name;
  enum class Fuse : uint8_t { listed, all, automatic } fuse = Fuse::listed;
  std::vector<RegionSchedule> regions;  // with `fuse all`, at most one, without tensors
  std::vector<std::pair<std::string, Format>> formats;
  std::vector<std::pair<std::string, std::vector<int64_t>>> blocks;  // inputs that are stored in blocks of these sizes
  std::vector<std::string> spill;  // tensors that are stored and read back: their regions are cut there
  bool algebra = true;
  bool algebraEverywhere = false;  // also across regions: temps may become something else for all of them
  bool cut = false;                // instead of refusing a region
  bool exchange = false;           // only orders whose graphs the SAM exchange format can say; not part of the text
  Location location;
};

struct Source {
  Program program;
  std::vector<Schedule> schedules;
  const Schedule* find(std::string_view name) const;
};

/// A program with its schedules, or schedules alone for a program that is known.
Result<Source> parseSource(std::string_view text, std::string_view file = {});
Result<std::vector<Schedule>> parseSchedules(std::string_view text, const Program& program, std::string_view file = {});
std::string print(const Schedule& schedule);
std::string print(const Source& source);

/// The statements of each region, regions in an order in which they can run. T0974 where a tensor is fused twice or is
/// none of the program's results, T0975 where two regions would wait for each other.
struct Partition {
  std::vector<std::vector<size_t>> regions;      // statements, in program order
  std::vector<const RegionSchedule*> schedules;  // of each region, or null
};
Result<Partition> partition(const Program& program, const Schedule& schedule);

/// For each statement, the statements whose results it reads.
std::vector<std::vector<size_t>> dependences(const Program& program);
/// The inputs that are stored sparse and that an expression reads.
std::set<TensorId> sparseInputs(const Program& program, ExprId value);

}  // namespace tokamak::sparse
