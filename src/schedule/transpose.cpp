#include "schedule/transpose.h"

#include <algorithm>

#include "schedule/prefetch.h"

namespace tokamak::schedule {

using kernel::Binding;

size_t contiguousGroup(const Access& access, const std::vector<LoopAxis>& groups) {
  for (size_t g = 0; g < groups.size(); ++g)
    if (access.stride[groups[g].last].is(1) && !access.opaque[groups[g].last]) return g;
  return groups.size();
}

std::vector<size_t> acrossLoads(const AccessMap& accesses, const std::vector<LoopAxis>& groups) {
  std::vector<size_t> out;
  if (groups.size() < 2) return out;
  size_t chosen = groups.size();
  for (size_t i = 0; i < accesses.loads.size(); ++i) {
    const Access& access = accesses.loads[i];
    const size_t g = contiguousGroup(access, groups);
    if (!access.value || g + 1 >= groups.size()) continue;
    const Dim& along = access.stride[groups.back().last];
    if (access.opaque[groups.back().last] || along.is(0)) continue;
    const auto times = std::count_if(accesses.loads.begin(), accesses.loads.end(),
                                     [&](const Access& other) { return other.value == access.value; });
    const bool opaque = std::any_of(access.opaque.begin(), access.opaque.end(), [](bool b) { return b; });
    const auto extent = groups[g].extent.constant(), inner = groups.back().extent.constant();
    if (times > 1 || opaque || access.masked || (extent && *extent < 4) || (inner && *inner < 4)) continue;
    if (chosen == groups.size()) chosen = g;
    if (chosen == g) out.push_back(i);
  }
  return out;
}

namespace {

/// One kernel's walk over tiles. Axis group `a` is the vectors' own, along `b` the loads that lie across are
/// contiguous.
class Tiles {
 public:
  Tiles(Lowering& l, const AccessMap& accesses, const std::vector<LoopAxis>& groups, const TileShape& shape)
      : l_(l),
        w_(l.w),
        e_(l.e),
        groups_(groups),
        shape_(shape),
        a_(groups.size() - 1),
        b_(contiguousGroup(accesses.loads[acrossLoads(accesses, groups)[0]], groups)),
        index_(groups.size()) {
    for (size_t i : acrossLoads(accesses, groups)) {
      const Access& access = accesses.loads[i];
      loads_.push_back(
          {&access, w_.local("tile", l.graph.type(access.value).dtype, Dim(shape.side * (shape.side + 1)))});
    }
    for (size_t g = 0; g < groups.size(); ++g)
      if (g != a_ && g != b_) order_.push_back(g);
    order_.push_back(a_), order_.push_back(b_);
    for (size_t g : order_)
      outer_.push_back(g == a_ || g == b_ ? Dim::ceilDiv(groups[g].extent, shape.side) : groups[g].extent);
  }

  void run(int64_t grain, const std::function<void(const At&)>& body) {
    const ExprId count = w_.dim(elementCount(outer_));
    e_.loop(
        "t", w_.i64(0), count, 1, Binding::parallel,
        [&](ExprId t) {
          const ExprId last = w_.sub(count, w_.i64(1));
          if (shape_.fetches) next_ = corner(w_.let("next", w_.binary(BinaryKind::min, w_.add(t, w_.i64(1)), last)));
          const auto begin = corner(t);
          const ExprId aSize = sizeOf(a_, begin[a_].base), bSize = sizeOf(b_, begin[b_].base);
          index_ = begin;
          for (const Across& across : loads_)
            e_.loop("r", w_.i64(0), aSize, 1, Binding::serial, [&](ExprId r) { bring(across, begin, r, bSize); });
          e_.loop("s", w_.i64(0), bSize, 1, Binding::serial, [&](ExprId s) { walk(begin, s, aSize, body); });
        },
        std::max<int64_t>(1, grain / shape_.side));
  }

 private:
  struct Across {
    const Access* access;
    BufferId tile;
  };

  /// First index of tile t along each group. Tiles follow each other along b, as the loads that lie across do.
  std::vector<Index> corner(ExprId t) {
    const auto parts = unflatten(IndexMath(w_, 1), {t, 0, 1, {}}, outer_);
    std::vector<Index> out(groups_.size());
    for (size_t k = 0; k < order_.size(); ++k) {
      const size_t g = order_[k];
      out[g] = parts[k];
      if (g == a_ || g == b_) out[g] = {w_.let("from", w_.mul(parts[k].base, w_.i64(shape_.side))), 0, 1, {}};
    }
    return out;
  }

  ExprId sizeOf(size_t g, ExprId from) {
    return w_.let("size", w_.binary(BinaryKind::min, w_.i64(shape_.side), w_.sub(w_.dim(groups_[g].extent), from)));
  }

  ExprId element(const Access& access, IndexMath m, const std::vector<Index>& index) {
    Index flat = m.constant(0);
    for (size_t g = 0; g < groups_.size(); ++g) flat = m.add(flat, m.mul(index[g], access.stride[groups_[g].last]));
    return w_.add(flat.base, w_.dim(access.offset));
  }

  /// Row r of a load's part of the tile, along its own contiguous axis.
  void bring(const Across& across, const std::vector<Index>& begin, ExprId r, ExprId bSize) {
    overVectors(e_, vectors(), w_.i64(0), 0, bSize, [&](const Index& j, const At& place) {
      IndexMath m(w_, place.lanes);
      index_[a_] = {w_.add(begin[a_].base, r), 0, 1, {}};
      index_[b_] = m.add(j, begin[b_]);
      const ExprId x =
          w_.load(l_.bufferOf(across.access->value), element(*across.access, m, index_), place.lanes, place.tail);
      w_.store(across.tile, w_.add(w_.mul(r, w_.i64(pitch())), j.base), x, place.tail);
    });
  }

  /// Row s of the tile as the domain has it. The tile that comes next is asked for a row at a time: its rows are too
  /// short for the processor to follow them.
  void walk(const std::vector<Index>& begin, ExprId s, ExprId aSize, const std::function<void(const At&)>& body) {
    for (const Across& across : loads_) {
      if (next_.empty()) break;
      auto index = next_;
      index[a_].base = w_.add(index[a_].base, s);
      fetch(l_, across.access->value, element(*across.access, IndexMath(w_, 1), index), static_cast<int>(shape_.side));
    }
    overVectors(e_, vectors(), w_.i64(0), 0, aSize, [&](const Index& j, const At& place) {
      IndexMath m(w_, place.lanes);
      index_[b_] = {w_.add(begin[b_].base, s), 0, 1, {}};
      index_[a_] = m.add(j, begin[a_]);
      for (const Across& across : loads_)
        e_.bind(across.access->value,
                [this, across, j = j.base, s, place](const At&) { return fromTile(across, j, s, place); });
      At at = place;
      at.index = domainIndex(m, l_.region.domain.size(), groups_, index_);
      body(at);
    });
  }

  /// With indices of 32 bits, which processors gather by in half the time.
  ExprId fromTile(const Across& across, ExprId j, ExprId s, const At& place) {
    const ExprId first = w_.convert(w_.add(w_.mul(j, w_.i64(pitch())), s), DType::i32);
    const ExprId step = w_.imm(Scalar::of(pitch()), DType::i32);
    const ExprId lanes = w_.mul(w_.ramp(w_.imm(Scalar::of(int64_t{0}), DType::i32), place.lanes), step);
    const ExprId x = w_.load(across.tile, w_.add(w_.splat(first, place.lanes), lanes), place.lanes, place.tail);
    return w_.convert(x, computeType(l_.graph.type(across.access->value).dtype));
  }

  VectorLoop vectors() const { return {shape_.lanes, shape_.lanes, Binding::serial, 1}; }
  int64_t pitch() const { return shape_.side + 1; }  // so that the elements of a column lie in different sets

  Lowering& l_;
  Writer& w_;
  Emitter& e_;
  const std::vector<LoopAxis>& groups_;
  const TileShape shape_;
  const size_t a_, b_;
  std::vector<size_t> order_;  // of the groups in the walk, slowest first
  std::vector<Dim> outer_;     // tiles along each group, as order_
  std::vector<Across> loads_;
  std::vector<Index> index_, next_;  // next_: corner of the tile after this one
};

}  // namespace

void lowerTiles(Lowering& l, const AccessMap& accesses, const std::vector<LoopAxis>& groups, const TileShape& shape,
                int64_t grain, const std::function<void(const At&)>& body) {
  Tiles(l, accesses, groups, shape).run(grain, body);
}

}  // namespace tokamak::schedule
