#include "fusion/reshape_groups.h"

namespace tokamak {

static bool divides(const Dim& a, const Dim& b) { return !a.is(0) && Dim::mod(b, a).is(0); }

std::vector<ReshapeGroup> reshapeGroups(const Shape& from, const Shape& to) {
  std::vector<ReshapeGroup> groups;
  size_t i = from.size(), j = to.size();
  while (i > 0 || j > 0) {
    ReshapeGroup group{i, i, j, j};
    Dim a = i > 0 ? from[--i] : Dim(1), b = j > 0 ? to[--j] : Dim(1);
    while (!(a == b)) {
      const bool growFrom = i > 0 && (j == 0 || divides(a, b) || !divides(b, a));
      if (growFrom)
        a = a * from[--i];
      else if (j > 0)
        b = b * to[--j];
      else
        break;
    }
    while (i > 0 && from[i - 1].is(1)) --i;
    while (j > 0 && to[j - 1].is(1)) --j;
    group.fromBegin = i;
    group.toBegin = j;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace tokamak
