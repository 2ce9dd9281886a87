#include "codegen/cuda/ranges.h"

#include <algorithm>
#include <bit>

#include "kernel/index_exprs.h"
#include "kernel/operands.h"

namespace tokamak::codegen::cuda {

using namespace kernel;

namespace {

using Wide = __int128;
constexpr int64_t kMostMultiple = 64;
constexpr int64_t kLargestExtent = int64_t{1} << 48;  // of a symbol, where indices are 64 bits wide

int64_t powerOfTwoIn(int64_t value) {
  if (value == 0) return kMostMultiple;
  return std::min(kMostMultiple, int64_t{1} << std::countr_zero(static_cast<uint64_t>(value)));
}

Range ofType(DType t) {
  switch (t) {
    case DType::boolean: return {0, 1};
    case DType::u8: return {0, 255};
    case DType::i8: return {INT8_MIN, INT8_MAX};
    case DType::i16: return {INT16_MIN, INT16_MAX};
    case DType::i32: return {INT32_MIN, INT32_MAX};
    default: return {};
  }
}

/// The values of an operation of type `t` whose exact results lie in [low, high].
Range between(Wide low, Wide high, DType t, bool isIndex) {
  const Range all = ofType(t);
  if (low >= all.low && high <= all.high) return {static_cast<int64_t>(low), static_cast<int64_t>(high), isIndex};
  if (!isIndex) return all;
  return {static_cast<int64_t>(std::max<Wide>(low, all.low)), static_cast<int64_t>(std::min<Wide>(high, all.high)),
          true};
}

class Analysis {
 public:
  Analysis(const Kernel& kernel, const Assumptions& assumptions)
      : kernel_(kernel), assumptions_(assumptions), ranges_(kernel.exprCount()), variables_(kernel.variables.size()) {
    if (assumptions.narrow && kernel.reach) withinReach_ = indexExprs(kernel);
  }

  std::vector<Range> run() {
    collect(kernel_.body);
    for (size_t i = 0; i < kernel_.exprCount(); ++i) {  // operands come first
      const Expr& expr = kernel_.expr(ExprId(i));
      if (isFloat(expr.type.dtype)) continue;
      ranges_[i] = std::visit([&](const auto& node) { return of(node, expr.type, i); }, expr.node);
      if (!withinReach_.empty() && withinReach_[i]) {
        ranges_[i].low = std::max(ranges_[i].low, -kNarrowIndexLimit);
        ranges_[i].high = std::min(ranges_[i].high, kNarrowIndexLimit);
      }
    }
    return std::move(ranges_);
  }

 private:
  struct Definition {
    ExprId value;               // of a `let`, or
    const For* loop = nullptr;  // of a loop's variable
  };

  void collect(const Block& block) {
    for (const Stmt& stmt : block) {
      if (auto* let = std::get_if<Let>(&stmt.node)) variables_[let->var.index].value = let->value;
      if (auto* loop = std::get_if<For>(&stmt.node)) {
        variables_[loop->var.index].loop = loop;
        collect(loop->body);
      }
      if (auto* branch = std::get_if<If>(&stmt.node)) collect(branch->then), collect(branch->otherwise);
    }
  }

  const Range& at(ExprId id) const { return ranges_[id.index]; }

  Range of(const Imm& n, ValueType type, size_t) const {
    const int64_t value = wrapTo(type.dtype, n.value.asInt());
    return {value, value, true, powerOfTwoIn(value)};
  }
  Range of(const Symbol&, ValueType, size_t) const {
    return {0, assumptions_.narrow ? kNarrowIndexLimit : kLargestExtent, true};
  }
  Range of(const Var& n, ValueType type, size_t self) const {
    const Definition& definition = variables_[n.var.index];
    if (definition.value && definition.value.index < self) return at(definition.value);
    const For* loop = definition.loop;
    if (!loop || loop->begin.index >= self || loop->end.index >= self) return ofType(type.dtype);
    const Range &begin = at(loop->begin), &end = at(loop->end);
    Range range{begin.low, std::max(begin.low, end.high - (end.high > INT64_MIN)), begin.isIndex && end.isIndex};
    range.multiple = std::min(begin.multiple, powerOfTwoIn(loop->step));
    return range;
  }

  Range of(const Bin& n, ValueType type, size_t) const {
    if (isFloat(kernel_.type(n.a).dtype) || type.dtype == DType::boolean) return ofType(type.dtype);
    const Range &a = at(n.a), &b = at(n.b);
    const bool isIndex = a.isIndex && b.isIndex;
    const Wide products[] = {Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low, Wide(a.high) * b.high};
    Range out = ofType(type.dtype);
    switch (n.kind) {
      case BinaryKind::add: out = between(Wide(a.low) + b.low, Wide(a.high) + b.high, type.dtype, isIndex); break;
      case BinaryKind::sub:
        out = between(Wide(a.low) - b.high, Wide(a.high) - b.low, type.dtype, isIndex);
        if (const int64_t unit = roundedDownTo(n.b, n.a)) out.low = 0, out.high = unit - 1;
        break;
      case BinaryKind::mul:
        out = between(*std::min_element(products, products + 4), *std::max_element(products, products + 4), type.dtype,
                      isIndex);
        break;
      case BinaryKind::max: out = {std::max(a.low, b.low), std::max(a.high, b.high), isIndex}; break;
      case BinaryKind::min: out = {std::min(a.low, b.low), std::min(a.high, b.high), isIndex}; break;
      case BinaryKind::div:
      case BinaryKind::floordiv:
        if (a.low >= 0 && b.low > 0) out = {a.low / b.high, a.high / b.low, isIndex};
        break;
      case BinaryKind::rem:
      case BinaryKind::fmod:
        if (a.low >= 0 && b.low > 0) out = {0, std::min(a.high, b.high - 1), isIndex};
        if (n.kind == BinaryKind::rem && a.low < 0 && b.low > 0) out = {0, b.high - 1, isIndex};
        break;
      default: break;
    }
    if (n.kind == BinaryKind::mul) out.multiple = std::min(kMostMultiple, a.multiple * b.multiple);
    if (n.kind == BinaryKind::add || n.kind == BinaryKind::sub || n.kind == BinaryKind::max ||
        n.kind == BinaryKind::min)
      out.multiple = std::min(a.multiple, b.multiple);
    return out;
  }

  /// The power of two of which `id` is the last multiple that is not above x; 0 if it is none.
  int64_t roundedDownTo(ExprId id, ExprId x) const {
    const auto letOf = [&](ExprId of) {
      auto* var = std::get_if<Var>(&kernel_.expr(of).node);
      return var ? variables_[var->var.index].value : ExprId{};
    };
    if (!letOf(x)) return 0;  // else it may have changed
    if (const ExprId value = letOf(id)) id = value;
    auto* masked = std::get_if<Bin>(&kernel_.expr(id).node);
    if (!masked || masked->kind != BinaryKind::bit_and || masked->a != x) return 0;
    const Range& mask = at(masked->b);
    return mask.low == mask.high && mask.low < 0 && -mask.low == mask.multiple ? mask.multiple : 0;
  }

  Range of(const Sel& n, ValueType, size_t) const {
    const Range &a = at(n.a), &b = at(n.b);
    return {std::min(a.low, b.low), std::max(a.high, b.high), a.isIndex && b.isIndex, std::min(a.multiple, b.multiple)};
  }
  Range of(const Convert& n, ValueType type, size_t) const {
    if (isFloat(kernel_.type(n.a).dtype)) return ofType(type.dtype);
    const Range &a = at(n.a), all = ofType(type.dtype);
    return a.low >= all.low && a.high <= all.high && type.dtype != DType::boolean ? a : all;
  }
  Range of(const Splat& n, ValueType, size_t) const { return at(n.a); }
  Range of(const Extract& n, ValueType, size_t) const {
    Range range = at(n.a);
    range.multiple = 1;
    return range;
  }
  Range of(const Ramp& n, ValueType type, size_t) const {
    const Range& base = at(n.base);
    Range out = between(base.low, Wide(base.high) + type.lanes - 1, type.dtype, base.isIndex);
    out.multiple = base.multiple;
    return out;
  }
  Range of(const Philox&, ValueType, size_t) const { return {0, UINT32_MAX}; }
  Range of(const Within& n, ValueType, size_t) const { return {0, std::max<int64_t>(1, at(n.extent).high) - 1}; }
  template <class Node>
  Range of(const Node&, ValueType type, size_t) const {
    return ofType(type.dtype);
  }

  const Kernel& kernel_;
  const Assumptions& assumptions_;
  std::vector<Range> ranges_;
  std::vector<Definition> variables_;
  std::vector<bool> withinReach_;  // by expression; empty where nothing is known
};

}  // namespace

std::vector<Range> rangesOf(const Kernel& kernel, const Assumptions& assumptions) {
  return Analysis(kernel, assumptions).run();
}

}  // namespace tokamak::codegen::cuda
