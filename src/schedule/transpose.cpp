#include "schedule/transpose.h"

#include <algorithm>

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

void lowerTiles(Lowering& l, const AccessMap& accesses, const std::vector<LoopAxis>& groups, int64_t tile, int lanes,
                int64_t grain, const std::function<void(const At&)>& body) {
  Writer& w = l.w;
  Emitter& e = l.e;
  const auto across = acrossLoads(accesses, groups);
  const size_t a = groups.size() - 1, b = contiguousGroup(accesses.loads[across[0]], groups);
  const size_t rank = l.region.domain.size();
  const int64_t pitch = tile + 1;
  std::vector<BufferId> tiles;
  tiles.reserve(across.size());
  for (size_t i : across)
    tiles.push_back(w.local("tile", l.graph.type(accesses.loads[i].value).dtype, Dim(tile * pitch)));

  std::vector<Dim> outer;
  outer.reserve(groups.size());
  for (size_t g = 0; g < groups.size(); ++g)
    outer.push_back(g == a || g == b ? Dim::ceilDiv(groups[g].extent, tile) : groups[g].extent);
  e.loop(
      "t", w.i64(0), w.dim(elementCount(outer)), 1, Binding::parallel,
      [&](ExprId t) {
        auto index = unflatten(IndexMath(w, 1), {t, 0, 1, {}}, outer);
        auto begin = [&](size_t g) { return w.let("from", w.mul(index[g].base, w.i64(tile))); };
        const ExprId a0 = begin(a), b0 = begin(b);
        auto size = [&](size_t g, ExprId from) {
          return w.let("size", w.binary(BinaryKind::min, w.i64(tile), w.sub(w.dim(groups[g].extent), from)));
        };
        const ExprId aSize = size(a, a0), bSize = size(b, b0);
        for (size_t k = 0; k < across.size(); ++k) {
          const ValueId v = accesses.loads[across[k]].value;
          const BufferId buffer = l.bufferOf(v);
          e.loop("r", w.i64(0), aSize, 1, Binding::serial, [&](ExprId r) {
            overVectors(e, {lanes, lanes, Binding::serial, 1}, w.i64(0), 0, bSize,
                        [&](const Index& j, const At& place) {
                          IndexMath m(w, place.lanes);
                          index[a] = {w.add(a0, r), 0, 1, {}};
                          index[b] = m.add(j, Index{b0, 0, 1, {}});
                          Index flat = m.constant(0);
                          for (size_t g = 0; g < groups.size(); ++g)
                            flat = m.add(flat, m.mul(index[g], accesses.loads[across[k]].stride[groups[g].last]));
                          const ExprId x = w.load(buffer, w.add(flat.base, w.dim(accesses.loads[across[k]].offset)),
                                                  place.lanes, place.tail);
                          w.store(tiles[k], w.add(w.mul(r, w.i64(pitch)), j.base), x, place.tail);
                        });
          });
        }
        e.loop("s", w.i64(0), bSize, 1, Binding::serial, [&](ExprId s) {
          overVectors(e, {lanes, lanes, Binding::serial, 1}, w.i64(0), 0, aSize, [&](const Index& j, const At& place) {
            IndexMath m(w, place.lanes);
            index[b] = {w.add(b0, s), 0, 1, {}};
            index[a] = m.add(j, Index{a0, 0, 1, {}});
            for (size_t k = 0; k < across.size(); ++k) {
              const ValueId v = accesses.loads[across[k]].value;
              const Index inTile{w.add(w.mul(j.base, w.i64(pitch)), s), pitch, 1, {}};
              e.bind(v, [&e, place, inTile, buffer = tiles[k], dtype = l.graph.type(v).dtype](const At&) {
                return e.loadFlat(buffer, inTile, place, dtype);
              });
            }
            At at = place;
            at.index = domainIndex(m, rank, groups, index);
            body(at);
          });
        });
      },
      std::max<int64_t>(1, grain / tile));
}

}  // namespace tokamak::schedule
