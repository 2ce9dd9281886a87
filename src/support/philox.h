#pragma once

#include <array>
#include <cstdint>

namespace tokamak {

/// One block of Philox-4x32-10: four 32-bit words from a 128-bit counter and a 64-bit key (words low first).
constexpr std::array<uint32_t, 4> philoxBlock(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// The block of four words that holds element `index` of a random tensor (graph::Random has the layout).
constexpr std::array<uint32_t, 4> philoxBlockOf(int64_t seed, int64_t offset, int64_t index) {
  const auto block = static_cast<uint64_t>(index) / 4, o = static_cast<uint64_t>(offset),
             s = static_cast<uint64_t>(seed);
  return philoxBlock({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(o),
                      static_cast<uint32_t>(o >> 32)},
                     {static_cast<uint32_t>(s), static_cast<uint32_t>(s >> 32)});
}

/// The 32 random bits of element `index`.
constexpr uint32_t philoxWord(int64_t seed, int64_t offset, int64_t index) {
  return philoxBlockOf(seed, offset, index)[static_cast<uint64_t>(index) % 4];
}

}  // namespace tokamak
