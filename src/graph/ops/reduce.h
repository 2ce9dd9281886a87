#pragma once

#include <tuple>
#include <vector>

#include "graph/ops/field.h"
#include "graph/type.h"

namespace tokamak {

enum class ReduceKind : uint8_t { sum, prod, max, min, mean, any, all, argmax, argmin, var };
template <>
struct EnumNames<ReduceKind> {
  static constexpr std::array<std::string_view, 10> names = {"sum", "prod", "max",    "min",    "mean",
                                                             "any", "all",  "argmax", "argmin", "var"};
};

/// Folds `axes` of its operand with `kind`; folded axes vanish from the result.
///
///   %1 = reduce %0 {kind = sum, axes = [1]} : f32[64]
///
/// Requires: axes non-empty, increasing, within rank. sum and prod of bool or integers give i64; mean and var want
/// floats; any and all give bool; max, min keep the dtype and, like argmax and argmin, let NaN win and want non-empty
/// extents (max and min with `identity` give the least and the greatest value of the dtype for nothing); argmax and
/// argmin give i64, the first position in row-major order over the folded axes. var divides by max(count - correction,
/// 0). Accumulation order is unspecified; passes may re-associate.
struct Reduce {
  static constexpr std::string_view mnemonic = "reduce";
  ReduceKind kind = ReduceKind::sum;
  std::vector<Axis> axes;
  int64_t correction = 0;
  bool identity = false;

  static constexpr auto fields() {
    return std::tuple{shown("kind", &Reduce::kind), Field{"axes", &Reduce::axes},
                      Field{"correction", &Reduce::correction}, Field{"identity", &Reduce::identity}};
  }
  bool operator==(const Reduce&) const = default;
};

enum class ScanKind : uint8_t { sum, prod, max, min, argmax, argmin };
template <>
struct EnumNames<ScanKind> {
  static constexpr std::array<std::string_view, 6> names = {"sum", "prod", "max", "min", "argmax", "argmin"};
};

/// Inclusive running fold along `axis`: cumsum, cumprod, cummax, cummin and the positions of the last two. `reverse`
/// runs from the end. sum and prod of bool or integers give i64; argmax and argmin give i64, the latest position that
/// attains the running extreme (as torch.cummax does); NaN wins.
///
///   %1 = scan %0 {kind = sum, axis = 1} : f32[8, 64]
struct Scan {
  static constexpr std::string_view mnemonic = "scan";
  ScanKind kind = ScanKind::sum;
  Axis axis = 0;
  bool reverse = false;

  static constexpr auto fields() {
    return std::tuple{shown("kind", &Scan::kind), shown("axis", &Scan::axis), Field{"reverse", &Scan::reverse}};
  }
  bool operator==(const Scan&) const = default;
};

}  // namespace tokamak
