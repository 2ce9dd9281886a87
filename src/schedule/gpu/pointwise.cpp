#include "schedule/gpu/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/pointwise.h"
#include "schedule/transpose.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

std::string Pointwise::Plan::str() const {
  if (tile) return fmt::format("{} threads, tiles {}x{}, {} lanes", threads, tileAcross, tile, lanes);
  return fmt::format("{} threads, {} x {} lanes{}", threads, vectors, lanes, straddles ? " across rows" : "");
}

Decision Pointwise::accepts(const Graph& graph, const Region& region) const {
  return schedule::Pointwise{}.accepts(graph, region);
}

namespace {

AccessMap accessesOf(const Graph& graph, const Region& region) {
  std::vector<bool> isLeaf(graph.size(), false);
  for (ValueId v : region.inputs) isLeaf[v.index] = true;
  return mapAccesses(graph, region.domain, region.outputs, [&](ValueId v) { return isLeaf[v.index]; });
}

/// Whether something is read that depends on the place along the last axis alone: a bias, the scale of a norm.
bool readsRowOperand(const AccessMap& accesses, const std::vector<LoopAxis>& groups) {
  return std::any_of(accesses.loads.begin(), accesses.loads.end(), [&](const Access& load) {
    const auto moves = [&](const LoopAxis& g) { return load.opaque[g.last] || !load.stride[g.last].is(0); };
    return std::none_of(groups.begin(), groups.end() - 1, moves) && moves(groups.back());
  });
}

/// Threads, about 256, for which a block takes whole rows at a time, so that a thread's vectors lie below each other:
/// whole warps or, if that cannot be, all but a twentieth of their lanes. 0: there is no such number.
int threadsOfRows(int64_t vectorsInRow) {
  for (int64_t idle : {0, 1}) {
    int64_t best = 0;
    for (int64_t n = vectorsInRow; n > 0 && n <= 512; n += vectorsInRow) {
      const int64_t lanes = (n + kWarp - 1) / kWarp * kWarp;
      if (n >= 96 && (lanes - n) * 20 <= idle * n && (!best || std::abs(n - 256) < std::abs(best - 256))) best = n;
    }
    if (best) return static_cast<int>(best);
  }
  return 0;
}

constexpr int64_t kTileElements = 4096;
constexpr int64_t kDear = 12;  // operations of an element, as fusion/weight.h counts them

/// Tiles of about 64 x 64, longer one way where the other is short.
void planTiles(Pointwise::Plan& plan, const Graph& graph, const AccessMap& accesses, const std::vector<size_t>& across,
               const std::vector<LoopAxis>& groups, const DimBindings& hints) {
  const auto side = [&](size_t g) {
    int64_t n = 4;
    while (n < 64 && static_cast<double>(n) < likely(groups[g].extent, hints)) n *= 2;
    return n;
  };
  const size_t b = contiguousGroup(accesses.loads[across[0]], groups);
  plan.tile = side(groups.size() - 1);
  plan.tileAcross = side(b);
  if (plan.tile < 64)
    plan.tileAcross = std::min<int64_t>(plan.tileAcross, 64) == 64 ? kTileElements / plan.tile : plan.tileAcross;
  else if (plan.tileAcross < 64)
    plan.tile = kTileElements / plan.tileAcross;
  int64_t bytes = 0;
  for (size_t i : across) bytes += byteWidth(graph.type(accesses.loads[i].value).dtype);
  while (plan.tile * plan.tileAcross * bytes > (40 << 10))
    (plan.tile > plan.tileAcross ? plan.tile : plan.tileAcross) /= 2;
  plan.lanes = static_cast<int>(std::min<int64_t>(plan.lanes, powerIn(groups.back().extent, plan.lanes)));
  plan.vectors = 1;
}

}  // namespace

Pointwise::Plan Pointwise::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                                const Device& device) const {
  Plan plan;
  const AccessMap accesses = accessesOf(graph, region);
  const auto groups = collapse(region.domain, accesses);
  if (groups.empty()) return {.threads = 1, .lanes = 1, .vectors = 1};
  plan.lanes = lanesFor(graph, region);
  if (const auto across = acrossLoads(accesses, groups); !across.empty()) {
    planTiles(plan, graph, accesses, across, groups, hints);
    return plan;
  }
  if (groups.size() > 1) {
    const int64_t fits = powerIn(groups.back().extent, plan.lanes);
    plan.straddles = fits * 2 < plan.lanes;  // half of a full access is as good as all of it
    if (!plan.straddles) plan.lanes = static_cast<int>(fits);
  }
  const double total = likely(elementCount(region.domain), hints);
  const double enough = 2.0 * device.gpu->multiprocessors;  // blocks
  int rowThreads = 0;
  if (const auto n = groups.back().extent.constant(); groups.size() > 1 && n && readsRowOperand(accesses, groups))
    rowThreads = plan.straddles ? 0 : threadsOfRows(*n / plan.lanes);
  if (rowThreads && total >= 2 * enough * rowThreads * plan.lanes)
    plan.threads = rowThreads;
  else
    rowThreads = 0;
  // About 64 bytes of loads in flight a thread, fewer where much is computed and registers run short.
  int64_t loaded = 0;
  for (ValueId v : region.inputs)
    if (graph.type(v).elements() == elementCount(region.domain)) loaded += byteWidth(graph.type(v).dtype) * plan.lanes;
  const int64_t weight = regionWeight(graph, region);
  const auto flight = static_cast<int64_t>(64 * device.gpu->inFlight);
  plan.vectors = static_cast<int>(std::clamp<int64_t>(flight / std::max<int64_t>(loaded, 16), 1, flight / 16));
  if (rowThreads)
    plan.vectors = std::max(plan.vectors, 4);  // what a row shares is read and computed once for all of them
  // Functions to the last digit of f32 take long, and blocks that are small and soon done hide it best.
  const bool exact = std::ranges::any_of(region.outputs, [&](ValueId v) { return graph.type(v).dtype == DType::f32; });
  if (!rowThreads && exact && weight >= kDear) plan.vectors = 1, plan.threads = 128;
  const int64_t most = 2048 * 32 / (32 + device.gpu->spareRegisters);
  while (plan.vectors > 1 && weight * plan.vectors * plan.lanes > most) plan.vectors /= 2;
  // Small tensors are spread over all multiprocessors first.
  const auto blocks = [&] { return total / (double(plan.threads) * plan.lanes * plan.vectors); };
  while (plan.vectors > 1 && blocks() < enough) plan.vectors /= 2;
  while (plan.threads > 64 && blocks() < enough) plan.threads /= 2;
  return plan;
}

namespace {

/// Places of a flat run over the domain.
class FlatPlaces {
 public:
  FlatPlaces(Lowering& l, std::vector<LoopAxis> groups) : l_(l), groups_(std::move(groups)) {
    for (const LoopAxis& g : groups_) extents_.push_back(g.extent);
  }

  /// The place of `lanes` elements from flat element `f` on, all within one row of the last group.
  At within(ExprId f, int lanes) {
    IndexMath m(l_.w, lanes);
    const Index flat{f, lanes > 1, l_.w.multipleOf(f), {}};
    return at(m, flat, unflatten(m, flat, extents_), lanes);
  }

  /// The place so many rows below that of flat element `f`. The index along the row is the same expression for all of
  /// them, so that what depends on it alone is computed once.
  At below(ExprId f, int64_t rows, int lanes) {
    IndexMath m(l_.w, lanes);
    const Index first{f, lanes > 1, l_.w.multipleOf(f), {}};
    const Dim& width = extents_.back();
    const Index row = m.add(m.div(first, width), Dim(rows));
    auto index = unflatten(m, row, {extents_.begin(), extents_.end() - 1});
    index.push_back(m.mod(first, width));
    return at(m, m.add(first, width * Dim(rows)), index, lanes);
  }

  /// The same for lanes that may run on into the next row. A row has at least as many elements as there are lanes.
  At across(ExprId f, int lanes) {
    Writer& w = l_.w;
    IndexMath m(w, lanes);
    auto index = unflatten(IndexMath(w, 1), {f, 0, 1, {}}, extents_);
    ExprId carry;
    for (size_t g = groups_.size(); g-- > 0;) {
      ExprId i = w.splat(w.let("i", index[g].base), lanes);
      i = g + 1 == groups_.size() ? w.ramp(index[g].base, lanes)
                                  : w.add(i, w.select(carry, w.imm(Scalar::of(int64_t{1}), DType::i64, lanes),
                                                      w.imm(Scalar::of(int64_t{0}), DType::i64, lanes)));
      if (g == 0) {
        index[g] = m.fromExpr(w.let("i", i));
        break;
      }
      const ExprId extent = w.splat(w.dim(extents_[g]), lanes);
      carry = w.let("over", w.binary(BinaryKind::ge, i, extent));
      index[g] = m.fromExpr(w.let("i", w.select(carry, w.sub(i, extent), i)));
    }
    return at(m, {f, 1, w.multipleOf(f), {}}, index, lanes);
  }

 private:
  At at(IndexMath m, const Index& flat, const std::vector<Index>& index, int lanes) {
    At out{domainIndex(m, l_.region.domain.size(), groups_, index), lanes, {}, {}};
    l_.e.setFlat(l_.region.domain, out.index, flat);
    return out;
  }

  Lowering& l_;
  std::vector<LoopAxis> groups_;
  std::vector<Dim> extents_;
};

/// Values first, stores after them.
void storeAll(Lowering& l, const std::vector<At>& places) {
  for (const At& at : places)
    for (ValueId v : l.region.outputs) l.e.value(v, at);
  for (const At& at : places)
    for (ValueId v : l.region.outputs) l.store(v, at);
}

}  // namespace

Scheduled Pointwise::lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName,
                           std::shared_ptr<RegionMemory> memory) const {
  Lowering l(graph, region, kernelName, std::move(memory));
  Writer& w = l.w;
  const AccessMap accesses = accessesOf(graph, region);
  const auto groups = collapse(region.domain, accesses);
  if (plan.tile) {
    lowerTiles(l, accesses, groups, plan, [&](const std::vector<At>& places) { storeAll(l, places); });
    return std::move(l).finish("transpose", plan.str());
  }
  FlatPlaces places(l, groups);
  const Dim total = elementCount(region.domain);
  const auto known = total.constant();
  const int64_t tile = int64_t{plan.threads} * plan.lanes * plan.vectors, step = int64_t{plan.threads} * plan.lanes;
  if (groups.empty()) {
    overGrid(l, 1, 1, 1 << 16, [&](ExprId, ExprId) {
      storeAll(l, {At{domainIndex(IndexMath(w, 1), region.domain.size(), {}, {}), 1, {}, {}}});
    });
    return std::move(l).finish(std::string(name), plan.str());
  }
  // Rows from one vector of a thread to its next; 0 where those do not lie below each other.
  const auto width = groups.back().extent.constant();
  const int64_t rows =
      groups.size() > 1 && width && *width > 0 && step % *width == 0 && !plan.straddles ? step / *width : 0;
  overGrid(l, Dim::ceilDiv(total, tile), plan.threads, tile + (1 << 16), [&](ExprId b, ExprId t) {
    const ExprId first = w.let("first", w.add(w.mul(b, w.i64(tile)), w.mul(t, w.i64(plan.lanes))));
    const auto vectorAt = [&](ExprId f, bool across) {
      return across ? places.across(f, plan.lanes) : places.within(f, plan.lanes);
    };
    const auto written = [&](bool across) {
      const auto all = [&, across] {
        std::vector<At> at;
        for (int v = 0; v < plan.vectors; ++v)
          at.push_back(rows ? places.below(first, v * rows, plan.lanes)
                            : vectorAt(w.let("f", w.add(first, w.i64(v * step))), across));
        storeAll(l, at);
      };
      const auto some = [&, across] {  // of the last tile
        const ExprId end =
            w.let("end", w.binary(BinaryKind::min, w.mul(w.add(b, w.i64(1)), w.i64(tile)), w.dim(total)));
        l.e.loop("f", first, end, step, Binding::serial, [&](ExprId f) {
          const auto elements = [&] {
            l.e.loop("e", f, w.dim(total), 1, Binding::serial, [&](ExprId e) { storeAll(l, {places.within(e, 1)}); });
          };
          const ExprId whole = w.binary(BinaryKind::le, w.add(f, w.i64(plan.lanes)), w.dim(total));
          w.when(known && *known % plan.lanes == 0 ? w.boolean(true) : whole,
                 l.e.scoped([&] { storeAll(l, {vectorAt(f, across)}); }), elements);
        });
      };
      const ExprId inside = w.binary(BinaryKind::le, w.mul(w.add(b, w.i64(1)), w.i64(tile)), w.dim(total));
      w.when(known && *known % tile == 0 ? w.boolean(true) : inside, l.e.scoped(all), l.e.scoped(some));
    };
    if (!plan.straddles) return written(false);
    const ExprId longRows = w.binary(BinaryKind::ge, w.dim(groups.back().extent), w.i64(plan.lanes));
    w.when(longRows, l.e.scoped([&] { written(true); }), l.e.scoped([&] { written(false); }));
  });
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule::gpu
