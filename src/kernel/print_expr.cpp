#include "kernel/print_expr.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/operands.h"
#include "kernel/words.h"

namespace tokamak::kernel {

namespace {

std::string_view infixOf(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add: return "+";
    case BinaryKind::sub: return "-";
    case BinaryKind::mul: return "*";
    case BinaryKind::div: return "/";
    case BinaryKind::eq: return "==";
    case BinaryKind::ne: return "!=";
    case BinaryKind::lt: return "<";
    case BinaryKind::le: return "<=";
    case BinaryKind::gt: return ">";
    case BinaryKind::ge: return ">=";
    default: return {};
  }
}

}  // namespace

ExprPrinter::ExprPrinter(const Kernel& kernel) : kernel_(kernel) {
  constexpr int64_t kMany = int64_t{1} << 40;
  sizes_.reserve(kernel.exprCount());
  depths_.reserve(kernel.exprCount());
  for (size_t i = 0; i < kernel.exprCount(); ++i) {
    int64_t size = 1;
    int depth = 0;
    forEachOperand(kernel.expr(ExprId(i)).node, [&](ExprId operand) {
      size = std::min(kMany, size + sizes_[operand.index]);
      depth = std::max(depth, depths_[operand.index]);
    });
    sizes_.push_back(size);
    depths_.push_back(depth + 1);
  }
  for (const auto& buffer : kernel.buffers) names_.insert(buffer.name);
  for (const auto& variable : kernel.variables) names_.insert(variable.name);
}

std::string ExprPrinter::freshName() {
  for (;;) {
    std::string name = fmt::format("t{}", lastFresh_++);
    const bool isSymbol = std::find(kernel_.symbols.begin(), kernel_.symbols.end(), name) != kernel_.symbols.end();
    if (!isSymbol && names_.insert(name).second) return name;
  }
}

std::string ExprPrinter::symbol(const std::string& name) const {
  return isReserved(name) || names_.contains(name) ? "$" + name : name;
}

bool ExprPrinter::isImm(ExprId id) const { return std::holds_alternative<Imm>(kernel_.expr(id).node); }

std::string ExprPrinter::str(ExprId id, std::optional<ValueType> wanted) const {
  std::string out;
  append(out, id, Level::comparison, wanted.has_value(), wanted);
  return out;
}

std::string ExprPrinter::primary(ExprId id) const {
  std::string out;
  append(out, id, Level::primary, false, {});
  return out;
}

void ExprPrinter::appendImm(std::string& out, const Imm& imm, ValueType type, bool typed) const {
  const bool asFloat = type.dtype == DType::f32 && imm.value.isFloat;
  if (type.dtype == DType::boolean)
    out += imm.value.i ? "true" : "false";
  else if (!asFloat)
    out += imm.value.str();
  else {
    // The shortest digits that give this f32 back, fewer than its float64 needs.
    std::string digits = fmt::format("{}", static_cast<float>(imm.value.d));
    if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
    out += imm.value.d != imm.value.d ? "nan" : digits;
  }
  const DType bare = imm.value.isFloat ? DType::f32 : type.dtype == DType::boolean ? DType::boolean : DType::i64;
  if (!typed && type != ValueType{bare, 1}) out += ":" + type.str();
}

/// The operand of a binary operation or arm of a select: an immediate takes its type from a sibling that is none.
void ExprPrinter::appendOperand(std::string& out, ExprId id, ExprId other, Level level) const {
  append(out, id, level, isImm(id) && !isImm(other), {});
}

void ExprPrinter::appendInfix(std::string& out, const Bin& bin, std::string_view symbol, Level own, Level level) const {
  const bool wrap = level > own;
  if (wrap) out += '(';
  // Sums and products group to the left, comparisons not at all.
  const Level left = own == Level::comparison ? Level::sum : own;
  appendOperand(out, bin.a, bin.b, left);
  if (own == Level::product)
    out += symbol;
  else
    out += fmt::format(" {} ", symbol);
  appendOperand(out, bin.b, bin.a, static_cast<Level>(static_cast<int>(own) + 1));
  if (wrap) out += ')';
}

void ExprPrinter::appendLoad(std::string& out, const Load& load, ValueType type, bool lanesKnown) const {
  const bool gather = kernel_.type(load.index).lanes > 1;
  const bool bare = lanesKnown || gather || type.lanes == 1;
  out += bare ? "load " : fmt::format("load<{}> ", type.lanes);
  out += kernel_.buffer(load.buffer).name + "[";
  append(out, load.index, Level::comparison, false, {});
  out += ']';
  if (load.mask) {
    out += " mask ";
    append(out, load.mask, Level::primary, false, {});
  }
  if (load.aligned) out += " aligned";
  if (load.cache != Cache::normal) out += fmt::format(" {}", nameOf(load.cache));
}

void ExprPrinter::append(std::string& out, ExprId id, Level level, bool typed, std::optional<ValueType> wanted) const {
  if (auto it = bound_.find(id); it != bound_.end()) {
    out += it->second;
    return;
  }
  const Expr& e = kernel_.expr(id);
  const auto call = [&](std::string_view name, std::initializer_list<ExprId> operands) {
    out += name;
    out += '(';
    bool first = true;
    for (ExprId operand : operands) {
      if (!first) out += ", ";
      first = false;
      append(out, operand, Level::comparison, false, {});
    }
    out += ')';
  };
  const std::string lanes = wanted ? "" : fmt::format("<{}>", e.type.lanes);
  std::visit(
      Overload{
          [&](const Imm& n) { appendImm(out, n, e.type, typed); }, [&](const Symbol& n) { out += symbol(n.name); },
          [&](const Var& n) { out += kernel_.variable(n.var).name; }, [&](const Un& n) { call(nameOf(n.kind), {n.a}); },
          [&](const Bin& n) {
            const std::string_view infix = infixOf(n.kind);
            if (!infix.empty()) {
              const bool sum = n.kind == BinaryKind::add || n.kind == BinaryKind::sub;
              return appendInfix(out, n, infix,
                                 isComparison(n.kind) ? Level::comparison
                                 : sum                ? Level::sum
                                                      : Level::product,
                                 level);
            }
            out += fmt::format("{}(", nameOf(n.kind));
            appendOperand(out, n.a, n.b, Level::comparison);
            out += ", ";
            appendOperand(out, n.b, n.a, Level::comparison);
            out += ')';
          },
          [&](const Sel& n) {
            out += "select(";
            append(out, n.condition, Level::comparison, false, {});
            out += ", ";
            appendOperand(out, n.a, n.b, Level::comparison);
            out += ", ";
            appendOperand(out, n.b, n.a, Level::comparison);
            out += ')';
          },
          [&](const Convert& n) { call(fmt::format("cast<{}>", nameOf(e.type.dtype)), {n.a}); },
          [&](const Load& n) { appendLoad(out, n, e.type, wanted.has_value()); },
          [&](const Splat& n) { call("splat" + lanes, {n.a}); }, [&](const Ramp& n) { call("ramp" + lanes, {n.base}); },
          [&](const Fold& n) {
            out += fmt::format("fold({}, ", nameOf(n.kind));
            append(out, n.a, Level::comparison, false, {});
            out += ')';
          },
          [&](const Prefix& n) {
            out += fmt::format("prefix({}, ", nameOf(n.kind));
            append(out, n.a, Level::comparison, false, {});
            out += ')';
          },
          [&](const WarpFold& n) {
            out += fmt::format("warpfold({}, ", nameOf(n.kind));
            append(out, n.a, Level::comparison, false, {});
            out += n.stride == 1 ? fmt::format(", {})", n.width) : fmt::format(", {}, {})", n.width, n.stride);
          },
          [&](const WarpPrefix& n) {
            out += fmt::format("warpprefix({}, ", nameOf(n.kind));
            append(out, n.a, Level::comparison, false, {});
            out += fmt::format(", {})", n.width);
          },
          [&](const WarpShift& n) {
            out += "warpshift(";
            appendOperand(out, n.a, n.first, Level::comparison);
            out += ", ";
            appendOperand(out, n.first, n.a, Level::comparison);
            out += fmt::format(", {})", n.width);
          },
          [&](const Extract& n) {
            out += "extract(";
            append(out, n.a, Level::comparison, false, {});
            out += fmt::format(", {})", n.lane);
          },
          [&](const Philox& n) { call("philox", {n.seed, n.offset, n.index}); },
          [&](const Within& n) { call("within", {n.a, n.extent, n.mask}); }},
      e.node);
}

}  // namespace tokamak::kernel
