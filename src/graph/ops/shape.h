#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "graph/ops/field.h"
#include "graph/type.h"
#include "support/array.h"
#include "support/scalar.h"

namespace tokamak {

/// A graph input. Never written as a statement: the graph's header declares it.
struct Input {
  static constexpr std::string_view mnemonic = "input";
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Input&) const = default;
};

/// Data known when compiling.
///
///   %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
struct Constant {
  static constexpr std::string_view mnemonic = "constant";
  std::shared_ptr<const Array> data;

  static constexpr auto fields() { return std::tuple{Field{"data", &Constant::data}}; }
  bool operator==(const Constant& other) const {
    return data == other.data || (data && other.data && *data == *other.data);
  }
};

/// Every element is `value`.
///
///   %0 = full {value = 0.5} : f32[]
struct Full {
  static constexpr std::string_view mnemonic = "full";
  Scalar value;
  static constexpr auto fields() { return std::tuple{shown("value", &Full::value)}; }
  bool operator==(const Full&) const = default;
};

/// The index along `axis`, in the dtype of the result (any but bool).
///
///   %0 = iota {axis = 1} : i64[8, 64]
struct Iota {
  static constexpr std::string_view mnemonic = "iota";
  Axis axis = 0;
  static constexpr auto fields() { return std::tuple{shown("axis", &Iota::axis)}; }
  bool operator==(const Iota&) const = default;
};

/// Axis i of the operand becomes axis axes[i] of the result (increasing); it has the same extent there, or 1 in the
/// operand. Other axes repeat.
///
///   %1 = broadcast %0 {axes = [1]} : f32[8, 64]        // %0 : f32[64]
struct Broadcast {
  static constexpr std::string_view mnemonic = "broadcast";
  std::vector<Axis> axes;
  static constexpr auto fields() { return std::tuple{Field{"axes", &Broadcast::axes}}; }
  bool operator==(const Broadcast&) const = default;
};

/// Same elements in row-major order under another shape with the same element count.
///
///   %1 = reshape %0 : f32[128]
struct Reshape {
  static constexpr std::string_view mnemonic = "reshape";
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Reshape&) const = default;
};

/// Axis i of the result is axis perm[i] of the operand.
///
///   %1 = transpose %0 {perm = [1, 0]} : f32[64, 8]
struct Transpose {
  static constexpr std::string_view mnemonic = "transpose";
  std::vector<Axis> perm;
  static constexpr auto fields() { return std::tuple{Field{"perm", &Transpose::perm}}; }
  bool operator==(const Transpose&) const = default;
};

/// Elements start, start + stride, ... along each axis; the result's extents say how many. Strides are positive.
///
///   %1 = slice %0 {start = [0, 2], stride = [1, 2]} : f32[8, 31]
struct Slice {
  static constexpr std::string_view mnemonic = "slice";
  std::vector<Dim> start;
  std::vector<int64_t> stride;
  static constexpr auto fields() { return std::tuple{Field{"start", &Slice::start}, Field{"stride", &Slice::stride}}; }
  bool operator==(const Slice&) const = default;
};

/// Adds `low` elements of `value` before and `high` after along each axis; negative amounts cut.
///
///   %1 = pad %0 {low = [0, 1], high = [0, 1], value = 0.0} : f32[8, 66]
struct Pad {
  static constexpr std::string_view mnemonic = "pad";
  std::vector<Dim> low, high;
  Scalar value;
  static constexpr auto fields() {
    return std::tuple{Field{"low", &Pad::low}, Field{"high", &Pad::high}, shown("value", &Pad::value)};
  }
  bool operator==(const Pad&) const = default;
};

/// Operands (one or more) end to end along `axis`.
///
///   %2 = concat %0, %1 {axis = 0} : f32[16, 64]
struct Concat {
  static constexpr std::string_view mnemonic = "concat";
  Axis axis = 0;
  static constexpr auto fields() { return std::tuple{shown("axis", &Concat::axis)}; }
  bool operator==(const Concat&) const = default;
};

/// Reverses `axes`.
///
///   %1 = flip %0 {axes = [1]} : f32[8, 64]
struct Flip {
  static constexpr std::string_view mnemonic = "flip";
  std::vector<Axis> axes;
  static constexpr auto fields() { return std::tuple{Field{"axes", &Flip::axes}}; }
  bool operator==(const Flip&) const = default;
};

}  // namespace tokamak
