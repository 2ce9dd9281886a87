#include <algorithm>

#include "schedule/gpu/pointwise.h"
#include "schedule/transpose.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

namespace {

/// A block's tile: `a` is the last group of the domain, `b` the one along which the loads that lie across are
/// contiguous.
class Tile {
 public:
  Tile(Lowering& l, const AccessMap& accesses, const std::vector<LoopAxis>& groups, const Pointwise::Plan& plan)
      : l_(l), w_(l.w), accesses_(accesses), groups_(groups), plan_(plan), across_(acrossLoads(accesses, groups)) {
    a_ = groups.size() - 1;
    b_ = contiguousGroup(accesses.loads[across_[0]], groups);
    for (size_t g = 0; g < groups.size(); ++g)
      outer_.push_back(g == a_   ? Dim::ceilDiv(groups[g].extent, plan.tile)
                       : g == b_ ? Dim::ceilDiv(groups[g].extent, plan.tileAcross)
                                 : groups[g].extent);
    for (size_t i : across_)
      tiles_.push_back(
          l.w.shared("tile", l.graph.type(accesses.loads[i].value).dtype, Dim(plan.tile * (plan.tileAcross + 1))));
  }

  Dim blocks() const { return elementCount(outer_); }

  void run(ExprId block, ExprId t, const std::function<void(const std::vector<At>&)>& body) {
    index_ = unflatten(IndexMath(w_, 1), {block, 0, 1, {}}, outer_);
    a0_ = w_.let("from", w_.mul(index_[a_].base, w_.i64(plan_.tile)));
    b0_ = w_.let("from", w_.mul(index_[b_].base, w_.i64(plan_.tileAcross)));
    for (size_t k = 0; k < across_.size(); ++k) bring(k, t);
    w_.barrier();
    overPlaces(t, body);
  }

 private:
  bool isWhole(size_t g, int64_t side) const {
    const auto n = groups_[g].extent.constant();
    return n && *n % side == 0;
  }

  /// Reads the tile along b, a vector a thread at a time.
  void bring(size_t k, ExprId t) {
    const Access& access = accesses_.loads[across_[k]];
    const DType dtype = l_.graph.type(access.value).dtype;
    int lanes = static_cast<int>(std::min<int64_t>(kAccessBytes / byteWidth(dtype), plan_.tileAcross));
    if (!isWhole(b_, lanes)) lanes = 1;
    const int64_t columns = plan_.tileAcross / lanes, vectors = columns * plan_.tile;
    const auto one = [&](ExprId v) {
      IndexMath m(w_, lanes);
      const ExprId r = w_.let("r", w_.binary(BinaryKind::div, v, w_.i64(columns)));
      const ExprId s = w_.let("s", w_.mul(w_.binary(BinaryKind::fmod, v, w_.i64(columns)), w_.i64(lanes)));
      std::vector<Index> index = index_;
      index[a_] = {w_.add(a0_, r), 0, 1, {}};
      index[b_] = {w_.add(b0_, s), lanes > 1, lanes, {}};
      ExprId inside;
      if (!isWhole(a_, plan_.tile)) inside = w_.both(inside, m.below(index[a_], groups_[a_].extent));
      if (!isWhole(b_, plan_.tileAcross))
        inside = w_.both(inside, w_.binary(BinaryKind::lt, index[b_].base, w_.dim(groups_[b_].extent)));
      if (inside) inside = w_.let("inside", inside);
      Index flat = m.constant(access.offset);
      for (size_t g = 0; g < groups_.size(); ++g) flat = m.add(flat, m.mul(index[g], access.stride[groups_[g].last]));
      const ExprId x = w_.load(l_.bufferOf(access.value), flat.base, lanes, inside);
      w_.store(tiles_[k], w_.add(w_.mul(r, w_.i64(plan_.tileAcross + 1)), s), x, inside);
    };
    overThreads(t, vectors, one);
  }

  /// Writes along a.
  void overPlaces(ExprId t, const std::function<void(const std::vector<At>&)>& body) {
    const int lanes = plan_.lanes;
    const int64_t columns = plan_.tile / lanes;
    const ExprId pitch = w_.i64(plan_.tileAcross + 1);
    overThreads(t, columns * plan_.tileAcross, [&](ExprId v) {
      IndexMath m(w_, lanes);
      const ExprId s = w_.let("s", w_.binary(BinaryKind::div, v, w_.i64(columns)));
      const ExprId r = w_.let("r", w_.mul(w_.binary(BinaryKind::fmod, v, w_.i64(columns)), w_.i64(lanes)));
      std::vector<Index> index = index_;
      index[a_] = {w_.add(a0_, r), lanes > 1, lanes, {}};
      index[b_] = {w_.add(b0_, s), 0, 1, {}};
      ExprId inside;
      if (!isWhole(a_, plan_.tile))
        inside = w_.both(inside, w_.binary(BinaryKind::lt, index[a_].base, w_.dim(groups_[a_].extent)));
      if (!isWhole(b_, plan_.tileAcross)) inside = w_.both(inside, m.below(index[b_], groups_[b_].extent));
      At at{domainIndex(m, l_.region.domain.size(), groups_, index),
            lanes,
            inside ? w_.let("inside", inside) : inside,
            {}};
      for (size_t k = 0; k < across_.size(); ++k) {
        const ValueId value = accesses_.loads[across_[k]].value;
        const Index inTile{w_.add(w_.mul(r, pitch), s), lanes > 1 ? plan_.tileAcross + 1 : 0, 1, {}};
        l_.e.bind(value, [this, at, inTile, buffer = tiles_[k], dtype = l_.graph.type(value).dtype](const At&) {
          return l_.e.loadFlat(buffer, inTile, at, dtype);
        });
      }
      body({at});
    });
  }

  /// `count` things shared out over the threads, a few at a time written out one after another.
  void overThreads(ExprId t, int64_t count, const std::function<void(ExprId)>& one) {
    if (count <= int64_t{plan_.threads} * 8) {
      for (int64_t k = 0; k * plan_.threads < count; ++k) {
        const ExprId v = w_.let("v", w_.add(t, w_.i64(k * plan_.threads)));
        const bool whole = (k + 1) * plan_.threads <= count;
        w_.when(whole ? w_.boolean(true) : w_.binary(BinaryKind::lt, v, w_.i64(count)), l_.e.scoped([&] { one(v); }));
      }
      return;
    }
    l_.e.loop("v", t, w_.i64(count), plan_.threads, Binding::serial, one);
  }

  Lowering& l_;
  Writer& w_;
  const AccessMap& accesses_;
  const std::vector<LoopAxis>& groups_;
  const Pointwise::Plan& plan_;
  std::vector<size_t> across_;
  size_t a_ = 0, b_ = 0;
  std::vector<Dim> outer_;
  std::vector<BufferId> tiles_;
  std::vector<Index> index_;
  ExprId a0_, b0_;
};

}  // namespace

void lowerTiles(Lowering& l, const AccessMap& accesses, const std::vector<LoopAxis>& groups,
                const Pointwise::Plan& plan, const std::function<void(const std::vector<At>&)>& body) {
  Tile tile(l, accesses, groups, plan);
  Dim slack = (1 << 16);
  for (const LoopAxis& g : groups) slack = slack + g.extent * Dim(plan.tile + plan.tileAcross);
  for (const LoopAxis& g : groups)
    slack = slack + Dim::floorDiv(elementCount(l.region.domain), g.extent) * Dim(plan.tile + plan.tileAcross);
  overGrid(l, tile.blocks(), plan.threads, slack, [&](ExprId b, ExprId t) { tile.run(b, t, body); });
}

}  // namespace tokamak::schedule::gpu
