#include "kernel/check_expr.h"

#include <fmt/format.h>

#include <bit>

#include "kernel/convert.h"
#include "kernel/operands.h"

namespace tokamak::kernel {

namespace {

bool folds(BinaryKind kind) {
  return kind == BinaryKind::add || kind == BinaryKind::mul || kind == BinaryKind::max || kind == BinaryKind::min ||
         kind == BinaryKind::bit_and || kind == BinaryKind::bit_or;
}

bool isIndexType(DType t) { return t == DType::i64 || t == DType::i32; }

/// One operator a node kind; each returns the complaint.
struct Checker {
  const Kernel& kernel;
  const ValueType type;

  ValueType of(ExprId id) const { return kernel.type(id); }
  std::string has(ValueType wanted, std::string_view what) const {
    return type == wanted ? "" : fmt::format("{} gives {}, not {}", what, wanted.str(), type.str());
  }
  std::string noHalf(std::string_view what, ValueType t) const {
    return isHalf(t.dtype) ? fmt::format("{} of {}: halves are only loaded, cast and stored", what, t.str()) : "";
  }

  std::string operator()(const Imm& n) const {
    if (isHalf(type.dtype)) return fmt::format("an immediate of {}: cast one of f32", type.str());
    const bool fits = n.value.isFloat == isFloat(type.dtype) && convertScalar(n.value, type.dtype) == n.value;
    return fits ? "" : fmt::format("{} is not a value of {}", n.value.str(), type.str());
  }
  std::string operator()(const Symbol&) const { return has({DType::i64, 1}, "a symbol"); }
  std::string operator()(const Var& n) const { return has(kernel.variable(n.var).type, kernel.variable(n.var).name); }

  std::string operator()(const Un& n) const {
    const ValueType a = of(n.a);
    if (auto wrong = noHalf(nameOf(n.kind), a); !wrong.empty()) return wrong;
    if (!isDefined(n.kind, a.dtype)) return fmt::format("{} is not defined on {}", nameOf(n.kind), a.str());
    return has({resultType(n.kind, a.dtype), a.lanes}, nameOf(n.kind));
  }
  std::string operator()(const Bin& n) const {
    const ValueType a = of(n.a), b = of(n.b);
    if (a != b) return fmt::format("{} of {} and {}", nameOf(n.kind), a.str(), b.str());
    if (auto wrong = noHalf(nameOf(n.kind), a); !wrong.empty()) return wrong;
    if (!isDefined(n.kind, a.dtype)) return fmt::format("{} is not defined on {}", nameOf(n.kind), a.str());
    return has({resultType(n.kind, a.dtype), a.lanes}, nameOf(n.kind));
  }
  std::string operator()(const Sel& n) const {
    const ValueType a = of(n.a), b = of(n.b), c = of(n.condition);
    if (a != b) return fmt::format("select between {} and {}", a.str(), b.str());
    if (auto wrong = noHalf("select", a); !wrong.empty()) return wrong;
    if (c != ValueType{DType::boolean, a.lanes}) return fmt::format("select of {} by {}", a.str(), c.str());
    return has(a, "select");
  }
  std::string operator()(const Convert& n) const { return has({type.dtype, of(n.a).lanes}, "cast"); }
  std::string operator()(const Load& n) const {
    if (auto wrong = checkAccess(kernel, kernel.buffer(n.buffer), type, n.index, n.mask); !wrong.empty()) return wrong;
    return n.aligned ? checkAligned(of(n.index), type) : "";
  }

  std::string operator()(const Splat& n) const {
    if (of(n.a).lanes != 1) return fmt::format("splat of {}", of(n.a).str());
    return has({of(n.a).dtype, type.lanes}, "splat");
  }
  std::string operator()(const Ramp& n) const {
    if (of(n.base).lanes != 1 || !isIndexType(of(n.base).dtype)) return fmt::format("ramp from {}", of(n.base).str());
    return has({of(n.base).dtype, type.lanes}, "ramp");
  }
  std::string operator()(const Fold& n) const {
    if (auto wrong = checkFold("fold", n.kind, of(n.a)); !wrong.empty()) return wrong;
    return has({of(n.a).dtype, 1}, "fold");
  }
  std::string operator()(const Prefix& n) const {
    if (n.kind == BinaryKind::bit_and || n.kind == BinaryKind::bit_or)
      return fmt::format("prefix by {}: only add, mul, max, min", nameOf(n.kind));
    if (auto wrong = checkFold("prefix", n.kind, of(n.a)); !wrong.empty()) return wrong;
    return has(of(n.a), "prefix");
  }
  std::string checkFold(std::string_view what, BinaryKind kind, ValueType a) const {
    if (!folds(kind)) return fmt::format("{} by {}: only add, mul, max, min, and, or", what, nameOf(kind));
    if (auto wrong = noHalf(what, a); !wrong.empty()) return wrong;
    return isDefined(kind, a.dtype) ? "" : fmt::format("{} is not defined on {}", nameOf(kind), a.str());
  }
  std::string operator()(const WarpFold& n) const {
    if (auto wrong = checkThreads("warpfold", n.width, n.stride); !wrong.empty()) return wrong;
    if (auto wrong = checkFold("warpfold", n.kind, of(n.a)); !wrong.empty()) return wrong;
    return has(of(n.a), "warpfold");
  }
  std::string operator()(const WarpPrefix& n) const {
    if (n.kind == BinaryKind::bit_and || n.kind == BinaryKind::bit_or)
      return fmt::format("warpprefix by {}: only add, mul, max, min", nameOf(n.kind));
    if (auto wrong = checkGroup("warpprefix", n.a, n.width); !wrong.empty()) return wrong;
    return checkFold("warpprefix", n.kind, of(n.a));
  }
  std::string operator()(const WarpShift& n) const {
    if (of(n.first) != of(n.a)) return fmt::format("warpshift of {} with {} first", of(n.a).str(), of(n.first).str());
    if (auto wrong = noHalf("warpshift", of(n.a)); !wrong.empty()) return wrong;
    return checkGroup("warpshift", n.a, n.width);
  }
  std::string checkGroup(std::string_view what, ExprId a, int width) const {
    if (of(a).lanes != 1) return fmt::format("{} of {}: it takes a scalar", what, of(a).str());
    if (auto wrong = checkThreads(what, width, 1); !wrong.empty()) return wrong;
    return has(of(a), what);
  }
  static std::string checkThreads(std::string_view what, int width, int stride) {
    if (width < 2 || width > kWarpSize || !std::has_single_bit(static_cast<unsigned>(width)))
      return fmt::format("{} over {} threads: 2, 4, 8, 16 or 32 can be", what, width);
    if (stride < 1 || width * stride > kWarpSize || !std::has_single_bit(static_cast<unsigned>(stride)))
      return fmt::format("{} over {} threads that are {} apart: a power of two, within {}", what, width, stride,
                         kWarpSize);
    return "";
  }
  std::string operator()(const Extract& n) const {
    const ValueType a = of(n.a);
    if (n.lane < 0 || n.lane >= a.lanes) return fmt::format("lane {} of {}", n.lane, a.str());
    if (auto wrong = noHalf("extract", a); !wrong.empty()) return wrong;
    return has({a.dtype, 1}, "extract");
  }
  std::string operator()(const Philox& n) const {
    const ValueType word{DType::i64, 1};
    if (of(n.seed) != word || of(n.offset) != word || of(n.index).dtype != DType::i64)
      return fmt::format("philox of {}, {} and {}: seed and offset are i64, the index i64 of any lanes",
                         of(n.seed).str(), of(n.offset).str(), of(n.index).str());
    return has(of(n.index), "philox");
  }
  std::string operator()(const Within& n) const {
    const ValueType a = of(n.a);
    if (a.dtype != DType::i64 || of(n.extent) != ValueType{DType::i64, 1} ||
        of(n.mask) != ValueType{DType::boolean, a.lanes})
      return fmt::format("within of {}, {} and {}: an i64 of any lanes, a scalar i64 and bool of as many lanes",
                         a.str(), of(n.extent).str(), of(n.mask).str());
    return has(a, "within");
  }
};

}  // namespace

std::string checkAligned(ValueType index, ValueType value) {
  if (index.lanes != 1) return "an aligned access has one index";
  if (std::has_single_bit(static_cast<unsigned>(value.lanes))) return "";
  return fmt::format("an aligned access of {} lanes: 1, 2, 4, 8, ... can be", value.lanes);
}

std::string checkExpr(const Kernel& kernel, const Expr& expr) {
  if (expr.type.lanes < 1 || expr.type.lanes > kMaxLanes) return fmt::format("{} lanes", expr.type.lanes);
  return std::visit(Checker{kernel, expr.type}, expr.node);
}

std::string checkAccess(const Kernel& kernel, const Buffer& buffer, ValueType value, ExprId index, ExprId mask) {
  const ValueType at = kernel.type(index);
  if (!isIndexType(at.dtype)) return fmt::format("{} is indexed by {}, not i64 or i32", buffer.name, at.str());
  if (value.dtype != buffer.dtype)
    return fmt::format("{} holds {}, not {}", buffer.name, nameOf(buffer.dtype), value.str());
  if (at.lanes != 1 && at.lanes != value.lanes)
    return fmt::format("{} lanes of {} at {} indices", value.lanes, buffer.name, at.lanes);
  if (mask && kernel.type(mask) != ValueType{DType::boolean, value.lanes})
    return fmt::format("the mask of {} lanes of {} is {}", value.lanes, buffer.name, kernel.type(mask).str());
  return "";
}

}  // namespace tokamak::kernel
