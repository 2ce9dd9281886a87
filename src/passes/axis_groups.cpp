#include "passes/axis_groups.h"

namespace tokamak {

namespace {

std::optional<std::vector<Axis>> axesThatCount(const Shape& shape) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is(0)) return std::nullopt;
    if (!shape[i].is(1)) axes.push_back(static_cast<Axis>(i));
  }
  return axes;
}

/// Products of the first 1, 2, ... of the axes from `start` on.
std::vector<Dim> prefixProducts(const Shape& shape, const std::vector<Axis>& axes, size_t start) {
  std::vector<Dim> products;
  Dim product = 1;
  for (size_t i = start; i < axes.size(); ++i) products.push_back(product = product * shape[axes[i]]);
  return products;
}

/// Lengths of the smallest group that starts here; zeros when there is none.
std::pair<size_t, size_t> smallestGroup(const std::vector<Dim>& from, const std::vector<Dim>& to) {
  for (size_t total = 2; total <= from.size() + to.size(); ++total)
    for (size_t a = 1; a < total && a <= from.size(); ++a) {
      const size_t b = total - a;
      if (b <= to.size() && from[a - 1] == to[b - 1]) return {a, b};
    }
  return {0, 0};
}

}  // namespace

std::optional<std::vector<AxisGroup>> axisGroups(const Shape& from, const Shape& to) {
  const auto fromAxes = axesThatCount(from), toAxes = axesThatCount(to);
  if (!fromAxes || !toAxes) return std::nullopt;
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < fromAxes->size() && j < toAxes->size()) {
    // Equal leading extents are by far the most common and need no products.
    std::pair<size_t, size_t> size{1, 1};
    if (!(from[(*fromAxes)[i]] == to[(*toAxes)[j]]))
      size = smallestGroup(prefixProducts(from, *fromAxes, i), prefixProducts(to, *toAxes, j));
    if (size.first == 0) return std::nullopt;
    AxisGroup group;
    group.from.assign(fromAxes->begin() + i, fromAxes->begin() + i + size.first);
    group.to.assign(toAxes->begin() + j, toAxes->begin() + j + size.second);
    groups.push_back(std::move(group));
    i += size.first;
    j += size.second;
  }
  if (i != fromAxes->size() || j != toAxes->size()) return std::nullopt;
  return groups;
}

}  // namespace tokamak
