#include <algorithm>
#include <bit>
#include <cmath>

#include "fusion/cost.h"
#include "kernel/check_expr.h"
#include "schedule/gpu/reduce.h"
#include "schedule/gpu/rows.h"
#include "schedule/gpu/stages.h"

/// How the GPU's folds are shared out. The numbers come from kernels measured on an H200: registers and what is in
/// flight decide, so a thread has about four vectors of a row, and kernels that hold rows are given about 64 registers.
namespace tokamak::schedule::gpu {

namespace {

constexpr double kBase = 30;     // registers of a thread beside what it holds
constexpr double kWeight = 10;   // and for a vector of each operand that all rows share
constexpr double kStraddle = 8;  // and for the borders of rows that begin anywhere
constexpr int kUsual = 64;       // registers that kernels of this sort are given
constexpr int kMaxVectors = 8;   // that a thread holds
constexpr int kRowThreads = 1024;
constexpr double kLongRow = 6144;            // vectors of a row that is worth a cluster
constexpr double kFewRows = 8;               // that one thread takes
constexpr int kStrip = 4;                    // threads beside each other that read 64 bytes of a row
constexpr int kNarrowest = 8;                // threads of a strip in a large block, which read 128 bytes of a row
constexpr int kStripThreads = 512;           // of such a block
constexpr double kStripBlocks = 1.9;         // of a multiprocessor
constexpr double kClusterThreads = 1024;     // of a multiprocessor, where clusters share out rows
constexpr int kLongRounds = 4;               // times as many rows at once, where few blocks do
constexpr int kAhead = 4, kRoundAhead = 12;  // rows that are loaded before their round, and rows of a round
constexpr int kWholeThreads = 576;           // of a block that takes rows side by side whole
constexpr int kAlone = 128;                  // threads of a block in which each is alone with its columns
constexpr double kAcrossThreads = 256, kAcrossVectors = 1024;  // of rows that carry folds: a row's; a multiprocessor's
constexpr double kStreamed = 1024;   // vectors of a row that is better read in rounds than held
constexpr int kMaxBatch = 8;         // rows that a thread takes at once
constexpr double kInFlight = 128;    // bytes that a thread has in flight then
constexpr double kWaves = 8;         // blocks a multiprocessor that are to be left
constexpr double kLongFold = 32768;  // elements worth a piece of their own
constexpr double kLongStore = 8192;  // where they are stored as well

int roundUp(double n, int unit) { return static_cast<int>(std::ceil(n / unit)) * unit; }
int powerUp(double n, int most) {
  return static_cast<int>(std::min<uint64_t>(most, std::bit_ceil(static_cast<uint64_t>(std::max(1.0, std::ceil(n))))));
}

/// 32-bit registers that are taken by one vector's held inputs and what is kept instead of them, those that dear values
/// take beside them if they are kept, and how many operands all rows share.
struct Registers {
  double held = 0, kept = 0;
  int weights = 0;
  bool dear = false;  // there are dear values
};

/// Whether an input has more than one element a row. What is broadcast from it along the folded axes has one.
bool variesInRow(const Lowering& l, ValueId input) {
  std::vector<bool> same(l.graph.size(), false);  // the input in another dtype or shape
  same[input.index] = true;
  for (ValueId v : l.region.nodes) {
    const Node& node = l.graph.node(v);
    if (node.operands.empty() || !same[node.operands[0].index]) continue;
    if (const auto* op = std::get_if<Broadcast>(&node.op)) {
      const Shape& shape = l.graph.type(node.operands[0]).shape;
      for (size_t i = 0; i < op->axes.size(); ++i)
        if (!shape[i].is(1) &&
            std::find(l.region.folded.begin(), l.region.folded.end(), op->axes[i]) != l.region.folded.end())
          return true;
      return false;
    }
    same[v.index] = node.type.elements() == l.graph.type(input).elements() && node.operands.size() == 1;
  }
  return true;
}

Registers registersOf(const Lowering& l, int lanes) {
  Registers out;
  const auto width = [&](DType t) { return lanes * static_cast<double>(byteWidth(t)) / 4; };
  const auto taken = [&](const Phases& phases) {
    double all = 0;
    for (ValueId v : readAgain(l, phases))
      if (variesInRow(l, v)) all += width(l.graph.type(v).dtype);
    for (const Sweep& sweep : phases.sweeps)
      for (ValueId v : sweep.keeps) all += width(computeType(l.graph.type(v).dtype));
    return all;
  };
  const auto keeps = [](const Phases& phases) {
    size_t all = 0;
    for (const Sweep& sweep : phases.sweeps) all += sweep.keeps.size();
    return all;
  };
  const Phases plain = planPhases(l.graph, l.region, {.instead = true}),
               keeping = planPhases(l.graph, l.region, {.keep = true, .instead = true});
  out.held = taken(plain);
  out.kept = taken(keeping) - out.held;
  out.dear = keeps(keeping) > keeps(plain);
  for (ValueId v : l.region.inputs) out.weights += l.graph.type(v).shape.size() < l.region.domain.size();
  return out;
}

/// Whether a row is short and halves down to one vector.
bool isShortPower(double vectors) {
  return vectors <= 4 * kWarp && std::has_single_bit(static_cast<unsigned>(vectors));
}

/// Threads of a row of `vectors` vectors: so many that each has about `wanted` and few have none. Of `held` registers a
/// vector and `base` more, so that two blocks fit into `registers`, if that can be had.
int threadsFor(double vectors, int wanted, double base, double held, int registers) {
  if (vectors <= 5 * kWarp) return powerUp(vectors / 5, kWarp);
  double least = INFINITY;
  int best = kRowThreads;
  for (int each = 2; each <= kMaxVectors; ++each) {
    const int threads = std::min(kRowThreads, roundUp(vectors / each, kWarp));
    const double rounds = std::ceil(vectors / threads);
    double cost = threads * rounds * (1 + 0.1 * std::abs(each - wanted));
    if ((base + held * rounds) * threads * 2 > registers) cost *= 4;
    if (cost < least) least = cost, best = threads;
  }
  return best;
}

/// Threads of a row that carry folds across: with two vectors each, or four of long rows, where rows divide so; else as
/// few as leave none idle. So that two rows fit a multiprocessor, if that can be had.
int threadsAcross(double vectors, double base, double each, bool straddles, int registers) {
  const double usual = straddles ? 1 : vectors > 2 * kAcrossThreads ? 4 : 2;
  double least = INFINITY;
  int best = kRowThreads;
  for (int most = 1; most <= kMaxVectors; ++most) {
    const double wanted = std::ceil(vectors / most);
    const int threads = wanted <= kWarp ? powerUp(wanted, kWarp) : roundUp(wanted, kWarp);
    if (threads > kRowThreads) continue;
    const double rounds = std::ceil(vectors / threads);
    double cost = threads * rounds * (1 + 0.02 * std::abs(rounds - usual));
    if ((base + each * rounds) * threads * 2 > registers) cost *= 4;
    if (cost < least) least = cost, best = threads;
  }
  return best;
}

class Planner {
 public:
  Planner(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device)
      : l_(graph, region, "plan"),
        domain_(foldDomain(l_)),
        hints_(hints),
        gpu_(*device.gpu),
        base_(kBase + gpu_.spareRegisters) {
    for (size_t g : domain_.keptGroups) kept_ *= likely(domain_.groups[g].extent, hints);
    folded_ = likely(domain_.foldedCount, hints);
    most_ = lanesFor(graph, region);
    const auto once = [&](const Phases& phases) {
      return phases.sweeps.size() == 1 && phases.sweeps[0].stores.empty() && region.across.empty();
    };
    onlyFolds_ = once(planPhases(graph, region));
    onePass_ = once(planPhases(graph, region, {.pairs = true}));
    storesFull_ =
        std::any_of(region.outputs.begin(), region.outputs.end(), [&](ValueId v) { return isFull(graph, region, v); });
  }

  FoldAxes::Plan rows() {
    FoldAxes::Plan plan;
    const bool along = domain_.vectorFolded && !domain_.foldedGroups.empty();
    plan.lanes = along ? static_cast<int>(powerIn(domain_.groups.back().extent, most_)) : 1;
    if (along && inOnePiece() && plan.lanes * 2 < most_ && folded_ >= 2 * most_)
      plan.straddles = true, plan.lanes = most_;
    const double vectors = std::ceil(folded_ / plan.lanes) + plan.straddles;
    const Registers each = registersOf(l_, plan.lanes);
    const double base = base_ + kWeight * each.weights + (plan.straddles ? kStraddle : 0);
    // Long rows and those that begin anywhere want many vectors a thread: less is done once a thread.
    const int wanted = vectors >= 1024 || plan.straddles ? 7 : 4;
    plan.threads = threadsFor(vectors, scaled(wanted, 2, kMaxVectors), base, each.held, gpu_.registers);
    // Where there is something to wait for between sweeps, twice the threads with two vectors each are better.
    if (!onlyFolds_ && !plan.straddles && isShortPower(vectors))
      plan.threads = std::max(1, static_cast<int>(vectors) / powerUp(scaled(2, 1, 4), 4));
    // Neighbours share whole lines of memory where the rows of a thread follow one another anyhow.
    if (onlyFolds_)
      plan.threads = std::max(plan.threads,
                              static_cast<int>(std::bit_floor(static_cast<unsigned>(std::clamp(vectors, 1.0, 8.0)))));
    plan.vectors = std::max(1, static_cast<int>(std::ceil(vectors / plan.threads)));
    double used = base + each.held * plan.vectors;
    const double keeping = used + each.kept * plan.vectors;
    if (each.dear && keeping <= std::max<double>(kUsual, used) && keeping * plan.threads * 2 <= gpu_.registers)
      plan.keep = true, used = keeping;
    // Operands that all rows share are read once more by every row: a second sweep through the first cache is no
    // dearer.
    const bool swept = each.weights > 0 && vectors * (1 + each.weights) >= 6000;
    const bool streamed = onePass_ && vectors >= kStreamed;
    const bool fits = plan.vectors <= kMaxVectors && used * plan.threads * 2 <= gpu_.registers && !swept && !streamed;
    plan.form = domain_.foldedCount.constant() && fits ? FoldAxes::Form::registers : FoldAxes::Form::sweeps;
    if (plan.form == FoldAxes::Form::sweeps && !streamed && spreads(plan, vectors, each)) return plan;
    if (plan.form == FoldAxes::Form::sweeps) used = sweeps(plan);
    // What is read once stays in no cache, so blocks may be small and many.
    if (streamed && !divideEvenly(plan)) plan.threads = 256, plan.vectors = scaled(4, 2, 8);
    // Rows of a warp or less share a block of four warps, or of one where there are few of them.
    int block = 128;
    while (block > kWarp && kept_ * plan.threads / block < 2 * gpu_.multiprocessors) block /= 2;
    plan.rows = std::max(1, block / plan.threads);
    const bool cached = plan.form == FoldAxes::Form::sweeps && !streamed;
    // Rows that begin anywhere wait for operands that all rows share: the more of them at once the better.
    if (plan.straddles && plan.threads > kWarp) used = std::min(used, double{kUsual});
    plan.resident = cached ? std::min(2, 1024 / plan.threads) : residentOf(plan, used);
    if (plan.form == FoldAxes::Form::registers) plan.batch = batchOf(plan);
    blocks_ = kept_ / plan.rows;
    return plan;
  }

  FoldAxes::Plan columns() {
    FoldAxes::Plan plan;
    plan.form = FoldAxes::Form::columns;
    const double columns = likely(domain_.groups.back().extent, hints_);
    plan.lanes = static_cast<int>(powerIn(domain_.groups.back().extent, most_));
    plan.vectors = scaled(std::clamp(4 * most_ / plan.lanes, 4, 16), 1, 32);
    plan.rows = powerUp(folded_ / 4, 8);
    plan.threads = powerUp(columns / plan.lanes, std::min(32, 256 / plan.rows));
    plan.rows = powerUp(folded_, 256 / plan.threads);
    // A few long rows: a thread takes all of its columns, and nothing is to be joined.
    if (folded_ <= kFewRows && kept_ / plan.lanes >= kAlone * 4.0 * gpu_.multiprocessors) {
      plan.rows = 1;
      plan.threads = kAlone;
      plan.vectors = std::max(1, static_cast<int>(folded_));
    }
    const auto blocks = [&] { return kept_ / columns * std::ceil(columns / (plan.threads * plan.lanes)); };
    // Where there is little to fold, narrow strips give every multiprocessor some.
    if (kept_ * folded_ < kLongFold * gpu_.multiprocessors) {
      const FoldAxes::Plan wide = plan;
      while (blocks() < gpu_.multiprocessors && plan.threads * plan.lanes > kStrip * most_ &&
             folded_ >= 2 * plan.rows) {
        plan.threads /= 2;
        plan.rows *= 2;
      }
      if (blocks() < 0.5 * gpu_.multiprocessors) plan = wide;
    }
    blocks_ = blocks();
    return plan;
  }

  /// Rows whose columns are folded on the way: not many vectors a thread, for every one is carried along.
  FoldAxes::Plan across() {
    FoldAxes::Plan plan;
    plan.lanes = domain_.vectorFolded ? static_cast<int>(powerIn(domain_.groups.back().extent, most_)) : 1;
    if (inOnePiece() && plan.lanes * 2 < most_ && folded_ >= 2 * most_) plan.straddles = true, plan.lanes = most_;
    const double vectors = std::ceil(folded_ / plan.lanes) + plan.straddles;
    const Registers registers = registersOf(l_, plan.lanes);
    double each = registers.held + registers.kept;  // of a vector
    plan.keep = registers.dear;
    for (ValueId v : l_.region.across) {
      const auto kind = std::get<Reduce>(l_.graph.node(v).op).kind;
      each += plan.lanes * static_cast<double>(byteWidth(accumulatorType(kind, l_.graph.type(v).dtype))) / 4;
    }
    plan.threads = threadsAcross(vectors, base_, each, plan.straddles, gpu_.registers);
    plan.vectors = std::max(1, static_cast<int>(std::ceil(vectors / plan.threads)));
    plan.rows = std::max(1, kAlone / plan.threads);
    // As many rows at once as keep memory busy, at least two: one is loaded while the other joins.
    const double used = base_ + each * plan.vectors, wanted = std::clamp(kAcrossVectors / vectors, 2.0, 32.0);
    const int fitting = static_cast<int>(gpu_.registers / (used * plan.rows * plan.threads));
    plan.resident = std::clamp(roundUp(wanted / plan.rows, 1), 1, std::max(1, std::min(fitting, gpu_.maxBlocks)));
    plan.blocks = gpu_.multiprocessors * plan.resident;
    if (loadsAhead(plan, used)) plan.ahead = plan.vectors;
    // Every row of a thread begins alike, so that a lane stays with its column.
    if (plan.straddles) plan.blocks = std::max(1, plan.blocks / plan.lanes) * plan.lanes;
    FoldAxes::Plan second;
    second.form = FoldAxes::Form::columns;
    second.vectors = 4;
    second.lanes = static_cast<int>(powerIn(domain_.groups.back().extent, 4));
    // Strips so narrow that every multiprocessor has one, of a line of memory at least.
    const double columns = likely(domain_.groups.back().extent, hints_) / second.lanes;
    second.threads = powerUp(columns, kWarp);
    while (second.threads * second.lanes > 4 * kNarrowest && columns / second.threads < gpu_.multiprocessors)
      second.threads /= 2;
    second.rows = powerUp(plan.blocks * plan.rows / 4.0, 512 / second.threads);
    plan.parts = {second};
    return plan;
  }

  /// Whether too few blocks have too much to do.
  bool leavesIdle() const {
    return blocks_ < 2 * gpu_.multiprocessors && kept_ * folded_ / std::max(1.0, blocks_) >= 2 * kLongFold;
  }
  bool leavesMostIdle() const { return leavesIdle() && blocks_ < 0.75 * gpu_.multiprocessors; }

  /// Whether narrow strips of columns, in large blocks, keep the machine as busy as pieces do and spare the second
  /// launch. A thread's sum of some hundred terms is still exact enough.
  bool strips(FoldAxes::Plan& plan) {
    if (plan.form != FoldAxes::Form::columns || plan.lanes != most_) return false;
    const double columns = likely(domain_.groups.back().extent, hints_);
    for (int threads = powerUp(columns / plan.lanes, kWarp); threads >= kNarrowest; threads /= 2) {
      const int rows = kStripThreads / threads;
      const double blocks = kept_ / columns * std::ceil(columns / (threads * plan.lanes));
      if (blocks < kStripBlocks * gpu_.multiprocessors || folded_ < 8 * rows || folded_ > 128 * rows) continue;
      plan.threads = threads;
      plan.rows = rows;
      plan.vectors = scaled(plan.lanes, 1, 32);
      blocks_ = blocks;
      // If all blocks are there at once, threads may have registers for all they have in flight.
      if (blocks <= 2 * gpu_.multiprocessors && gpu_.spareRegisters == 0) plan.resident = 2;
      return true;
    }
    return false;
  }

  /// Whether the blocks of clusters can share out the rows of such strips, which spares the second launch too. There
  /// is to be as much in flight as keeps memory busy, and something for each thread to do. Strips of 256 bytes are
  /// better than those of 128, and two blocks of a multiprocessor better than few blocks whose threads take four times
  /// as many rows at once.
  bool clusters(FoldAxes::Plan& plan) {
    if (plan.form != FoldAxes::Form::columns || plan.lanes != most_ || gpu_.arch < 90) return false;
    const double columns = likely(domain_.groups.back().extent, hints_);
    for (const int longer : {1, kLongRounds})
      for (const int threads : {2 * kNarrowest, kNarrowest})
        for (int cluster = 2; cluster <= kernel::kMaxCluster; cluster *= 2) {
          const double across = std::ceil(columns / (threads * plan.lanes)), strips = kept_ / columns * across;
          const double busy = strips * cluster * kStripThreads * longer / (kClusterThreads * gpu_.multiprocessors);
          const double used = columns / (across * threads * plan.lanes);  // of the threads side by side
          const int rows = kStripThreads / threads;
          if (busy < 0.85 || busy > 1.05 || used < 0.85 || folded_ < 8.0 * longer * rows * cluster) continue;
          plan.cluster = cluster;
          plan.threads = threads;
          plan.rows = rows;
          plan.vectors = scaled(plan.lanes * longer, 1, 32);
          // Room for a third block (27.2 to 23.9 us for 16384x1024): probably since clusters must find a place in one
          // group of multiprocessors, and not all groups are whole. Halves leave it by themselves.
          if (longer > 1) {
            plan.resident = 1;
            fetchAhead(plan);
          } else if (plan.lanes <= 4 && gpu_.spareRegisters == 0)
            plan.resident = 3;
          blocks_ = strips * cluster;
          return true;
        }
    return false;
  }

  /// Rounds that leave something in flight for the next one, where they come out even: what they leave over goes row
  /// by row. Twelve rows of which four were loaded before (14.50 us for 16384x1024) do better than 32 at once (14.69);
  /// what else was tried is in docs/performance.md.
  void fetchAhead(FoldAxes::Plan& plan) const {
    const auto rows = domain_.foldedCount.constant();
    const bool plain = !l_.region.inputs.empty() && plainHalves(l_).size() == l_.region.inputs.size();
    if (gpu_.spareRegisters > 0 || gpu_.inFlight != 1 || !plain || !rows) return;
    if (*rows / (int64_t{plan.rows} * plan.cluster) % kRoundAhead != kAhead) return;
    plan.vectors = kRoundAhead;
    plan.ahead = kAhead;
  }

  /// Makes a fold of one sweep go in two launches.
  void cut(FoldAxes::Plan& plan) {
    if (plan.form == FoldAxes::Form::columns && canJoinRows(plan)) {
      plan.together = most_ / plan.lanes;
      plan.lanes = most_;
      plan.vectors = scaled(4, 1, 32);
      blocks_ = std::ceil(kept_ * plan.together / (plan.threads * plan.lanes));
      takeWhole(plan);
    }
    const double pieces = plan.whole ? wholePieces(plan) : piecesOf();
    FoldAxes::Plan second;
    second.vectors = 4;
    if (plan.form == FoldAxes::Form::columns) {
      plan.piece = roundUp(folded_ / plan.together / pieces, plan.rows * plan.vectors);
      second.form = plan.form;
      // There is little to read, and what counts is how long one thread is at it.
      const double columns = likely(domain_.groups.back().extent, hints_);
      const bool wide = kept_ >= 64.0 * gpu_.multiprocessors;
      second.lanes = wide ? static_cast<int>(powerIn(domain_.groups.back().extent, 4)) : 1;
      const double found = pieces * (plan.whole ? 1 : plan.together);
      const auto down = [&] { return powerUp(found / 4, (wide ? 256 : 512) / second.threads); };
      second.threads = powerUp(columns / second.lanes, 32);
      while (!wide && second.threads > kNarrowest && found > 1.25 * kFewRows * down()) second.threads /= 2;
      second.rows = down();
    } else {
      plan.form = FoldAxes::Form::sweeps;
      plan.keep = false;
      plan.rows = 1;
      plan.threads = 256;
      plan.vectors = scaled(onePass_ ? 8 : 4, 1, 8);
      plan.resident = residentOf(plan, base_);
      plan.piece = roundUp(folded_ / pieces, plan.threads * plan.lanes * plan.vectors);
      second.form = FoldAxes::Form::sweeps;
      second.lanes = 1;
      second.threads = std::max(kWarp, powerUp(pieces, 256));
      second.vectors = 1;
    }
    plan.parts = {second};
  }

 private:
  /// Whether threads that go from row to row have registers for the next row's vectors beside `used`.
  bool loadsAhead(const FoldAxes::Plan& plan, double used) const {
    if (plan.straddles || !inOnePiece() || folded_ != static_cast<double>(plan.threads) * plan.lanes * plan.vectors)
      return false;
    double more = 0;
    for (ValueId v : loadedAhead(l_, planPhases(l_.graph, l_.region, {.keep = plan.keep, .instead = true})))
      more += plan.vectors * plan.lanes * static_cast<double>(byteWidth(l_.graph.type(v).dtype)) / 4;
    return more > 0 && gpu_.spareRegisters == 0 &&
           (used + more) * plan.threads * plan.rows * plan.resident <= gpu_.registers;
  }

  /// Whether a row lies in one piece.
  bool inOnePiece() const {
    return domain_.vectorFolded && domain_.foldedGroups.size() == 1 &&
           std::is_sorted(domain_.folded.begin(), domain_.folded.end());
  }

  /// Whether rows of an odd length can be folded several at a time as one row that is a multiple of a vector.
  bool canJoinRows(const FoldAxes::Plan& plan) const {
    const Phases phases = planPhases(l_.graph, l_.region, {.pairs = true});
    const auto& folds = phases.sweeps[0].folds;
    const bool plain = std::none_of(folds.begin(), folds.end(),
                                    [&](ValueId v) { return isArg(std::get<Reduce>(l_.graph.node(v).op).kind); });
    // A row that is left over would put a mask on every load.
    const auto rows = domain_.foldedCount.constant();
    return plain && phases.sweeps.size() == 1 && rows && *rows % (most_ / plan.lanes) == 0 &&
           phases.sweeps[0].pairs.empty() && plan.lanes * 2 < most_ && domain_.groups.back().extent.constant() &&
           domain_.keptGroups.size() == 1 && domain_.foldedGroups.size() == 1 && plan.threads == kWarp;
  }

  /// Makes blocks take narrow rows side by side whole, if there is enough for all of them: no strip is narrower than
  /// the others, and what goes to the second launch is columns.
  void takeWhole(FoldAxes::Plan& plan) const {
    FoldAxes::Plan whole = plan;
    whole.whole = true;
    whole.threads = static_cast<int>(kept_ * plan.together / plan.lanes);
    if (whole.threads > kWholeThreads) return;
    whole.rows = static_cast<int>(std::bit_floor(static_cast<unsigned>(kWholeThreads / whole.threads)));
    whole.vectors = scaled(8, 1, 32);
    const bool aThreadEach = kept_ <= static_cast<double>(whole.threads) * whole.rows;
    if (aThreadEach && folded_ / plan.together >= whole.rows * whole.vectors * wholePieces(whole)) plan = whole;
  }
  double wholePieces(const FoldAxes::Plan& plan) const {
    return gpu_.multiprocessors * std::max(1.0, std::floor(2.0 * kWholeThreads / (plan.threads * plan.rows)));
  }

  /// How many rows a thread takes at once where nothing but folds is wanted: so many that it has enough in flight, and
  /// blocks enough are left.
  int batchOf(const FoldAxes::Plan& plan) const {
    if (!onlyFolds_) return 1;
    const double bytes = 16.0 * plan.vectors * plan.lanes / most_, blocks = kept_ / plan.rows;
    int batch = 1;
    while (batch < kMaxBatch && bytes * batch * 2 <= kInFlight && blocks / (batch * 2) >= kWaves * gpu_.multiprocessors)
      batch *= 2;
    return batch;
  }

  /// Pieces of a fold that goes in two launches: the number at which the multiprocessors have most nearly the same to
  /// do.
  double piecesOf() const {
    const double worth = storesFull_ ? kLongStore : kLongFold;
    const double blocks = std::max(1.0, blocks_), most = std::ceil(kept_ * folded_ / blocks / worth);
    double best = 1, reached = 0;
    for (double pieces = 2; pieces <= most && blocks * (pieces - 1) < 4.0 * gpu_.multiprocessors; ++pieces) {
      const double each = blocks * pieces / gpu_.multiprocessors;
      // Below three blocks a multiprocessor too little is in flight; more than four or five leave more to be finished.
      const double even = each / std::ceil(each) * std::min(1.0, each / 3.5);
      if (even > reached) reached = even, best = pieces;
    }
    return best;
  }

  /// Blocks of a multiprocessor, so that each thread has the registers it needs and some to spare.
  int residentOf(const FoldAxes::Plan& plan, double used) const {
    const int threads = plan.rows * plan.threads;
    const int blocks = std::min(gpu_.maxBlocks, gpu_.registers / (threads * std::max(kUsual, roundUp(used, 8))));
    return blocks < 2 && used * threads * 2 <= gpu_.registers ? 2 : blocks;
  }

  /// The usual number of vectors as the device leans: fewer where registers have run short.
  int scaled(int usual, int least, int most) const {
    return std::clamp(static_cast<int>(usual * gpu_.inFlight / (1 + gpu_.spareRegisters / 32.0)), least, most);
  }

  /// Long rows are held by the threads of a cluster of blocks together, in as few blocks as do with 256 threads and the
  /// usual registers. Whether it can be done.
  bool spreads(FoldAxes::Plan& plan, double vectors, const Registers& each) {
    if (gpu_.arch < 90 || !domain_.foldedCount.constant() || vectors < kLongRow) return false;
    const int most = std::clamp(static_cast<int>((kUsual - base_) / std::max(1.0, each.held)), 1, kMaxVectors);
    int cluster = 2;
    while (cluster < kernel::kMaxCluster && vectors / cluster > 256.0 * most) cluster *= 2;
    const int threads = std::max(kWarp, roundUp(vectors / cluster / most, kWarp));
    if (threads > 2 * 256) return false;
    plan.form = FoldAxes::Form::registers;
    plan.cluster = cluster;
    plan.threads = threads;
    plan.vectors = static_cast<int>(std::ceil(vectors / cluster / threads));
    plan.resident = gpu_.registers / (threads * kUsual);
    plan.keep = false;
    blocks_ = kept_ * cluster;
    return true;
  }

  /// For rows that are not held; the registers it takes.
  double sweeps(FoldAxes::Plan& plan) {
    plan.keep = false;
    plan.vectors = scaled(4, 1, 8);
    const double bytes = folded_ * 16 / most_;  // of one row of the widest input
    plan.threads = std::min(plan.threads, bytes >= 200000 ? kRowThreads : bytes >= 100000 ? 512 : 256);
    if (bytes < 100000 && plan.threads == 256 && !divideEvenly(plan)) fillRounds(plan);
    return base_ + 16;
  }

  double vectorsOf(const FoldAxes::Plan& plan) const { return std::ceil(folded_ / plan.lanes) + plan.straddles; }

  /// So many threads and vectors that a row goes in whole rounds, at least two, if there are: a last round of a few
  /// vectors takes as long as a full one.
  bool divideEvenly(FoldAxes::Plan& plan) {
    for (const int each : {4, 2})
      for (int threads = 512; threads >= 256; threads -= kWarp) {
        const double rounds = vectorsOf(plan) / (threads * each);
        if (rounds < 2 || rounds != std::floor(rounds)) continue;
        plan.threads = threads, plan.vectors = scaled(each, 1, 8);
        return true;
      }
    return false;
  }

  /// Rounds of one vector, in the last of which the fewest threads have none.
  void fillRounds(FoldAxes::Plan& plan) {
    double least = INFINITY;
    for (int threads = 512; threads >= 256; threads -= kWarp) {
      const double taken = std::ceil(vectorsOf(plan) / threads) * threads;
      if (taken < least) least = taken, plan.threads = threads;
    }
    plan.vectors = scaled(1, 1, 8);
  }

  Lowering l_;
  FoldDomain domain_;
  const DimBindings& hints_;
  const Gpu& gpu_;
  const double base_;
  double kept_ = 1, folded_ = 1, blocks_ = 1;
  int most_ = 1;
  bool onlyFolds_ = false;  // one sweep that stores nothing at full level
  bool onePass_ = false;    // the same where pairs of folds share a sweep
  bool storesFull_ = false;
};

}  // namespace

FoldAxes::Plan FoldAxes::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                              const Device& device) const {
  if (!region.across.empty()) {
    const Region rows = rowsPart(graph, region);
    return Planner(graph, rows, hints, device).across();
  }
  Planner planner(graph, region, hints, device);
  Lowering l(graph, region, "plan");
  Plan plan = foldDomain(l).vectorFolded ? planner.rows() : planner.columns();
  const bool columns = plan.form == Form::columns;
  const Phases phases = planPhases(graph, region, {.pairs = true, .early = columns});
  if (phases.sweeps.size() == 1 && (columns || phases.sweeps[0].stores.empty())) {
    if (planner.leavesIdle() && !planner.strips(plan) && !planner.clusters(plan)) planner.cut(plan);
  } else if (planner.leavesMostIdle()) {
    plan = {};
    plan.apart = true;
    RegionMemory memory;
    for (const Region& part : splitSweeps(graph, region, memory))
      if (part.kind == RegionKind::reduce)
        plan.parts.push_back(FoldAxes{}.plan(graph, part, hints, device));
      else
        plan.last = Pointwise{}.plan(graph, part, hints, device);
  }
  return plan;
}

}  // namespace tokamak::schedule::gpu
