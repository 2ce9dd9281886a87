#pragma once

#include <tuple>

#include "graph/ops/field.h"
#include "graph/type.h"

namespace tokamak {

/// result[i...] = x[..., index[i...], ...] with the index standing at `axis` (torch.gather). Index is i32 or i64 and
/// has x's rank; each of its extents but `axis` is at most x's. Negative indices count from the end; one out of range
/// is undefined behaviour for the program, and reads a clamped element here. `checked`: an index that is negative or
/// beyond the end is an error, which stops a kernel on a GPU; the CPU's kernels clamp.
///
///   %2 = gather %x, %index {axis = 1} : f32[8, 4]
struct Gather {
  static constexpr std::string_view mnemonic = "gather";
  Axis axis = 0;
  bool checked = false;
  static constexpr auto fields() {
    return std::tuple{shown("axis", &Gather::axis), Field{"checked", &Gather::checked}};
  }
  bool operator==(const Gather&) const = default;
};

/// Whole slices of x picked by an index of any rank, whose axes replace `axis` (torch.index_select, embedding).
///
///   %2 = index_select %table, %index {axis = 0} : f32[4, 7, 64]      // %table : f32[1000, 64], %index : i64[4, 7]
struct IndexSelect {
  static constexpr std::string_view mnemonic = "index_select";
  Axis axis = 0;
  bool checked = false;  // as of gather
  static constexpr auto fields() {
    return std::tuple{shown("axis", &IndexSelect::axis), Field{"checked", &IndexSelect::checked}};
  }
  bool operator==(const IndexSelect&) const = default;
};

enum class ScatterKind : uint8_t { set, add, mul, max, min };
template <>
struct EnumNames<ScatterKind> {
  static constexpr std::array<std::string_view, 5> names = {"set", "add", "mul", "max", "min"};
};

/// A copy of x with x[..., index[i...], ...] combined with source[i...] for every i in row-major order (torch.scatter);
/// with `set` the last one wins. Negative indices count from the end; one out of range is skipped.
///
///   %3 = scatter %x, %index, %source {axis = 0, kind = add} : f32[1000, 64]
struct Scatter {
  static constexpr std::string_view mnemonic = "scatter";
  Axis axis = 0;
  ScatterKind kind = ScatterKind::set;
  static constexpr auto fields() { return std::tuple{shown("axis", &Scatter::axis), shown("kind", &Scatter::kind)}; }
  bool operator==(const Scatter&) const = default;
};

enum class RandomKind : uint8_t { uniform, normal, bits };
template <>
struct EnumNames<RandomKind> {
  static constexpr std::array<std::string_view, 3> names = {"uniform", "normal", "bits"};
};

/// Philox-4x32-10 random numbers. Operands: seed i64[], offset i64[]. Element i (row-major) takes word i mod 4 of the
/// block whose counter is (lo32(i / 4), hi32(i / 4), lo32(offset), hi32(offset)) under the key (lo32(seed),
/// hi32(seed)). bits: the word, zero-extended (i64). uniform: (word >> 8) * 2^-24, in [0, 1). normal: with u1 =
/// ((word(2k) >> 8) + 1) * 2^-24, u2 = (word(2k+1) >> 8) * 2^-24 of the element's own pair k of words in its block,
/// even elements are sqrt(-2 ln u1) cos(2 pi u2), odd ones the sine.
///
///   %2 = random %seed, %offset {kind = uniform} : f32[8, 64]
struct Random {
  static constexpr std::string_view mnemonic = "random";
  RandomKind kind = RandomKind::uniform;
  static constexpr auto fields() { return std::tuple{shown("kind", &Random::kind)}; }
  bool operator==(const Random&) const = default;
};

}  // namespace tokamak
