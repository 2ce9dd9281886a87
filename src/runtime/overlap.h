#pragma once

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <span>

namespace tokamak::runtime {

/// Bytes that a call reads in place (output -1) or writes.
struct Extent {
  uintptr_t begin, end;
  int output;
};

/// Clears the base of every output that shares bytes with an input or another output: those are written elsewhere
/// first.
inline void clearOverlapping(std::span<Extent> extents, void** outputBases) {
  std::ranges::sort(extents, {}, &Extent::begin);
  uintptr_t reach = 0;  // of those that begin before
  for (const Extent& e : extents) {
    if (e.output >= 0 && e.begin < reach) outputBases[e.output] = nullptr;
    reach = std::max(reach, e.end);
  }
  uintptr_t next = UINTPTR_MAX;  // where the one behind begins
  for (const Extent& e : extents | std::views::reverse) {
    if (e.output >= 0 && next < e.end) outputBases[e.output] = nullptr;
    next = e.begin;
  }
}

}  // namespace tokamak::runtime
