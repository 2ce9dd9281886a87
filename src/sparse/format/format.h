#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/decision.h"
#include "support/enum_names.h"

namespace tokamak::sparse {

/// How one level of a tensor stores the coordinates below each position of the level above.
///   dense       all of 0 .. size-1; nothing is stored; child position = parent * size + coordinate
///   compressed  pos[p] .. pos[p+1] is the range of crd that belongs to position p
///   singleton   exactly one coordinate a position: crd[p] (the tail of COO)
enum class LevelKind : uint8_t { dense, compressed, singleton };

/// Which part of its axis's coordinate a level holds. Blocked formats split an axis in two levels: `outer` is
/// coordinate / block, `inner` is coordinate % block. A block need not divide its axis: what the last one holds beyond
/// the edge is zero and no entry.
enum class LevelPart : uint8_t { whole, outer, inner };

struct Level {
  LevelKind kind = LevelKind::dense;
  int axis = 0;  // of the tensor
  LevelPart part = LevelPart::whole;
  int64_t block = 1;   // of a split axis
  bool unique = true;  // a coordinate comes once a fiber; COO's outer levels are not unique

  /// Number of coordinates along this level for an axis of `extent`.
  int64_t sizeFor(int64_t extent) const;
  /// This level's part of a coordinate along its axis.
  int64_t coordinateOf(int64_t coordinate) const;

  bool operator==(const Level&) const = default;
};

/// The levels of a tensor, outermost first. Any order of axes, each axis whole or as one outer and one inner part.
///
///   csr          = {dense 0, compressed 1}
///   csc          = {dense 1, compressed 0}
///   bcsr(16, 32) = {dense 0/16, compressed 1/32, dense 0%16, dense 1%32}
///   coo          = {compressed 0 repeated, singleton 1}
///
/// The text of a format is its name where it has one (dense, csr, csc, dcsr, dcsc, coo, csf, bcsr), else the list.
struct Format {
  std::vector<Level> levels;

  static Format dense(int rank);
  static Format csf(int rank);  // every level compressed, axes in order
  static Format coo(int rank);

  int rank() const;  // number of axes
  bool isDense() const;
  bool isBlocked() const;
  /// Axes in the order in which their first level comes.
  std::vector<int> axisOrder() const;
  /// Whether the levels are a format at all: each axis once or in two parts with one block size, outer before inner;
  /// singletons below a compressed or singleton level.
  Decision isWellFormed() const;

  std::string str() const;
  bool operator==(const Format&) const = default;
};

/// A named format for a rank: `csr` is for rank 2 alone, `csf` and `dense` for any. `blocks` are bcsr's, one an axis.
std::optional<Format> namedFormat(std::string_view name, int rank, const std::vector<int64_t>& blocks = {});

}  // namespace tokamak::sparse

template <>
struct tokamak::EnumNames<tokamak::sparse::LevelKind> {
  static constexpr std::array<std::string_view, 3> names = {"dense", "compressed", "singleton"};
};
