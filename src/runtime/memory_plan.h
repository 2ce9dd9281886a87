#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tokamak::runtime {

/// A temporary: its bytes and the steps, first and last inclusive, during which they must be its own.
struct Lifetime {
  int first = 0, last = 0;
  int64_t bytes = 0;
};

/// Memory that is there anyway and is free until a step first writes it: an output's.
struct Host {
  int first = 0;
  int64_t bytes = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one a lifetime, in its host or in the arena
  std::vector<int> hosts;        // one a lifetime: the number of its host, or -1: the arena
  int64_t arenaBytes = 0;        // INT64_MAX where the sizes overflow
  int64_t totalBytes = 0;        // without any reuse
};

/// Places temporaries in hosts and one arena so that those alive at the same time do not overlap: largest first, each
/// in the tightest gap that holds it, of a host if one does. A temporary is over before its host is written. Offsets
/// are multiples of 64, of 4096 from 64 KiB on. Deterministic.
MemoryPlan planMemory(std::span<const Lifetime> lifetimes, std::span<const Host> hosts = {});

}  // namespace tokamak::runtime
