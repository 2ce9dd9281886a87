#include "schedule/prefetch.h"

namespace tokamak::schedule {

static bool isStream(const Lowering& l, const Access& access, size_t along) {
  if (!access.value || access.masked || !l.isLeaf[access.value.index] || !access.stride[along].is(1)) return false;
  for (size_t i = 0; i < l.region.domain.size(); ++i)
    if (access.opaque[i] || (access.stride[i].is(0) && !l.region.domain[i].is(1))) return false;
  return true;
}

void fetchAhead(Lowering& l, const AccessMap& accesses, const At& at, size_t along, int64_t bytes, bool near) {
  for (const Access& access : accesses.loads) {
    if (!isStream(l, access, along)) continue;
    IndexMath m(l.w, at.lanes);
    Index first = m.constant(access.offset);
    for (size_t i = 0; i < at.index.size(); ++i)
      if (!l.region.domain[i].is(1)) first = m.add(first, m.mul(at.index[i], access.stride[i]));
    const int64_t distance = bytes / byteWidth(l.graph.type(access.value).dtype);
    fetch(l, access.value, l.w.add(first.base, l.w.i64(distance)), at.lanes, near);
  }
}

void fetch(Lowering& l, ValueId value, ExprId first, int lanes, bool near) {
  const int64_t line = 64 / byteWidth(l.graph.type(value).dtype);
  for (int64_t k = 0; k < lanes; k += line) l.w.prefetch(l.bufferOf(value), l.w.add(first, l.w.i64(k)), near);
}

}  // namespace tokamak::schedule
