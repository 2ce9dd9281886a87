#pragma once

#include <cstdint>
#include <string_view>

namespace tokamak {

/// FNV-1a with a final mix: stable across processes and machines, so it may name things on disk.
inline uint64_t hashBytes(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325ull) {
  uint64_t h = seed;
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001b3ull;
  h ^= h >> 32;
  return h * 0x9e3779b97f4a7c15ull;
}

inline uint64_t hashMix(uint64_t a, uint64_t b) {
  uint64_t h = a ^ (b + 0x9e3779b97f4a7c15ull + (a << 12) + (a >> 4));
  h ^= h >> 29;
  return h * 0xbf58476d1ce4e5b9ull;
}

}  // namespace tokamak
