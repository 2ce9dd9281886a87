#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/function_text.h"
#include "kernel/operands.h"

/// The part of FunctionText that writes expressions.
namespace tokamak::codegen::cuda {

using namespace kernel;

namespace {

constexpr int kMaxNesting = 16;  // operations in one line of text

}  // namespace

bool FunctionText::isPlain(ExprId id) const {
  const ExprNode& node = kernel_.expr(id).node;
  if (auto* splat = std::get_if<Splat>(&node)) return isPlain(splat->a);
  return std::holds_alternative<Imm>(node) || std::holds_alternative<Symbol>(node) || std::holds_alternative<Var>(node);
}

const FunctionText::Remembered* FunctionText::known(ExprId id) const {
  const Remembered& remembered = memo_[id.index];
  const bool fresh = remembered.epoch && (!changing_[id.index] || remembered.epoch == epoch_);
  return fresh ? &remembered : nullptr;
}

void FunctionText::remember(ExprId id, Remembered what) {
  undo_.emplace_back(id, std::move(memo_[id.index]));
  what.epoch = epoch_;
  memo_[id.index] = std::move(what);
}

void FunctionText::giveName(ExprId id, const Text& text) {
  const std::string name = nameFor(id);
  const int lanes = kernel_.type(id).lanes;
  nesting_[id.index] = 0;
  if (lanes == 1) {
    line(fmt::format("const {} {} = {};", typeOf(id), name, text.text));
    return remember(id, {{name, Level::atom}, 0, {}});
  }
  line(fmt::format("{} {}[{}];", typeOf(id), name, lanes));
  laneLoop(lanes, fmt::format("{}[l] = {};", name, text.text));
  remember(id, {{name + "[l]", Level::atom}, 0, name});
}

Text FunctionText::value(ExprId root) {
  // Operands first, without recursion: a chain of fused operations may be thousands deep.
  std::vector<ExprId> pending{root};
  while (!pending.empty()) {
    const ExprId id = pending.back();
    if (known(id)) {
      pending.pop_back();
      continue;
    }
    const size_t size = pending.size();
    std::vector<ExprId> operands;
    forEachOperand(kernel_.expr(id).node, [&](ExprId operand) { operands.push_back(operand); });
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand)
      if (!known(*operand)) pending.push_back(*operand);
    if (pending.size() > size) continue;
    pending.pop_back();
    int nesting = 0;
    for (ExprId operand : operands) nesting = std::max(nesting, nesting_[operand.index]);
    const Text text = nodeText(id);
    if (known(id)) continue;  // it has an array of its own already
    nesting_[id.index] = isPlain(id) ? 0 : nesting + 1;
    if (!isPlain(id) && (uses_[id.index] > 1 || nesting >= kMaxNesting))
      giveName(id, text);
    else
      remember(id, {text, 0, {}});
  }
  return known(root)->text;
}

Text FunctionText::named(ExprId id) {
  Text text = value(id);
  if (isPlain(id) || nesting_[id.index] == 0) return text;
  giveName(id, text);
  return known(id)->text;
}

std::string FunctionText::array(ExprId id) {
  value(id);
  if (auto* var = std::get_if<Var>(&kernel_.expr(id).node)) return nameOf(var->var);
  if (known(id)->name.empty()) giveName(id, known(id)->text);
  return known(id)->name;
}

Text FunctionText::lane(ExprId id, int lane) {
  const ExprNode& node = kernel_.expr(id).node;
  if (std::holds_alternative<Imm>(node) || std::holds_alternative<Splat>(node)) return value(id);
  if (auto* ramp = std::get_if<Ramp>(&node)) return laneOfRamp(*ramp, {fmt::format("{}", lane), Level::atom});
  return {fmt::format("{}[{}]", array(id), lane), Level::atom};
}

Text FunctionText::laneOfRamp(const Ramp& e, const Text& lane) { return infix(value(e.base), "+", lane, Level::sum); }

Text FunctionText::nodeText(ExprId id) {
  const Expr& expr = kernel_.expr(id);
  const auto dtypeOf = [&](ExprId operand) { return kernel_.type(operand).dtype; };
  return std::visit(
      Overload{[&](const Imm& e) { return immediateText(expr.type.dtype, e.value); },
               [&](const Symbol& e) { return Text{symbolNames_.find(e.name)->second, Level::atom}; },
               [&](const Var& e) { return Text{nameOf(e.var) + (expr.type.lanes > 1 ? "[l]" : ""), Level::atom}; },
               [&](const Un& e) {
                 if (const auto quick = quickText(e)) return *quick;
                 if (dtypeOf(e.a) == DType::i64 && !isPredicate(e.kind))
                   return resultOf(id, unaryText(snippets_, e.kind, DType::i64, widened(e.a)));
                 const Text a = e.kind == UnaryKind::isnan ? named(e.a) : value(e.a);
                 return unaryText(snippets_, e.kind, dtypeOf(e.a), a);
               },
               [&](const Bin& e) {
                 if (const auto quick = quickText(e)) return *quick;
                 const DType t = dtypeOf(e.a);
                 if ((t == DType::i64 || t == DType::i32) && !isComparison(e.kind)) return integerBinary(id, e);
                 // A sum over a count, once a row: a mean that others see in f32 is exact.
                 if (t == DType::f32 && e.kind == BinaryKind::div && expr.type.lanes == 1 && isCount(e.b))
                   return infix(value(e.a), "/", value(e.b), Level::product);
                 return binaryText(snippets_, e.kind, t, value(e.a), value(e.b));
               },
               [&](const Sel& e) {
                 return Text{fmt::format("{} ? {} : {}", value(e.condition).at(Level::logic),
                                         value(e.a).at(Level::logic), value(e.b).at(Level::logic)),
                             Level::choice};
               },
               [&](const Convert& e) {
                 if (expr.type.dtype == DType::i64 && isNarrow(id)) return castTo("int", value(e.a));
                 if (const auto lane = halfLane(e.a)) return convertText(snippets_, DType::f32, expr.type.dtype, *lane);
                 return convertText(snippets_, dtypeOf(e.a), expr.type.dtype, value(e.a));
               },
               [&](const Load& e) { return loadText(id, e); }, [&](const Splat& e) { return named(e.a); },
               [&](const Ramp& e) {
                 Text base = value(e.base);
                 if (expr.type.dtype == DType::i64 && isNarrow(e.base) && !isNarrow(id))
                   base = castTo("long long", base);
                 return infix(base, "+", {"l", Level::atom}, Level::sum);
               },
               [&](const Fold& e) { return foldText(e); }, [&](const Prefix& e) { return prefixText(id, e); },
               [&](const WarpFold& e) { return warpFoldText(id, e); },
               [&](const WarpPrefix& e) { return warpPrefixText(id, e); },
               [&](const WarpShift& e) { return shiftText(id, e); },
               [&](const Extract& e) { return kernel_.type(e.a).lanes == 1 ? value(e.a) : lane(e.a, e.lane); },
               [&](const Philox& e) { return philoxText(id, e); },
               [&](const Within& e) {
                 return resultOf(id, call(snippets_.use("within"), {widened(e.a), widened(e.extent), value(e.mask)}));
               }},
      expr.node);
}

bool FunctionText::isCount(ExprId id) const {
  const ExprNode& node = kernel_.expr(id).node;
  if (std::holds_alternative<Imm>(node) || std::holds_alternative<Symbol>(node)) return true;
  bool known = std::holds_alternative<Convert>(node) || std::holds_alternative<Bin>(node);
  if (known) forEachOperand(node, [&](ExprId operand) { known = known && isCount(operand); });
  return known;
}

/// Lanes of halves that two share a register are taken from there in one instruction each; what is only rounded goes
/// through such registers too, where a pair is rounded at once.
std::optional<Text> FunctionText::halfLane(ExprId id) {
  const ValueType type = kernel_.type(id);
  if (type.dtype != DType::bf16 || type.lanes % 2 != 0) return {};
  narrowLanes(id);
  const auto* var = std::get_if<Var>(&kernel_.expr(id).node);
  const std::string& name = var ? nameOf(var->var) : known(id)->name;
  if (name.empty()) return {};
  return call(snippets_.use("f32_lane"), {{name, Level::atom}, {"l", Level::atom}});
}

// ---- integers ----

Text FunctionText::widened(ExprId id) { return isNarrow(id) ? castTo("long long", value(id)) : value(id); }

Text FunctionText::resultOf(ExprId id, const Text& wide) const { return isNarrow(id) ? castTo("int", wide) : wide; }

/// Arithmetic that provably stays within its type is plain text; 64-bit values known to fit are `int`s.
Text FunctionText::integerBinary(ExprId id, const Bin& e) {
  const DType t = kernel_.type(e.a).dtype;
  const Range &out = ranges_[id.index], &a = ranges_[e.a.index], &b = ranges_[e.b.index];
  const bool isLong = t == DType::i64;
  const int64_t least = isLong ? INT64_MIN : INT32_MIN, most = isLong ? INT64_MAX : INT32_MAX;
  const bool exact = out.isIndex || out.low > least || out.high < most;
  const bool narrow = !isLong || (isNarrow(id) && isNarrow(e.a) && isNarrow(e.b));
  const bool division = e.kind == BinaryKind::div || e.kind == BinaryKind::floordiv || e.kind == BinaryKind::fmod ||
                        e.kind == BinaryKind::rem;
  if (division && a.low >= 0 && b.low > 0) return quotient(id, e);
  const bool sum = e.kind == BinaryKind::add || e.kind == BinaryKind::sub;
  if (exact && (sum || e.kind == BinaryKind::mul)) {
    const std::string_view symbol = e.kind == BinaryKind::add ? "+" : e.kind == BinaryKind::sub ? "-" : "*";
    const Text left = narrow || !isNarrow(e.a) || !isNarrow(e.b) ? value(e.a) : widened(e.a);
    const Text text = infix(left, symbol, value(e.b), sum ? Level::sum : Level::product);
    return narrow ? text : resultOf(id, text);
  }
  if (narrow) return binaryText(snippets_, e.kind, t, value(e.a), value(e.b));
  return resultOf(id, binaryText(snippets_, e.kind, t, widened(e.a), widened(e.b)));
}

/// Of numbers that are not negative by ones that are positive.
Text FunctionText::quotient(ExprId id, const Bin& e) {
  const bool wantsRest = e.kind == BinaryKind::fmod || e.kind == BinaryKind::rem;
  const Text text = infix(value(e.a), wantsRest ? "%" : "/", value(e.b), Level::product);
  const bool wide = kernel_.type(e.a).dtype == DType::i64 && !(isNarrow(e.a) && isNarrow(e.b));
  return wide ? resultOf(id, text) : text;
}

// ---- lanes ----

/// Lane i with lane i + n/2, then the same over n/2 lanes.
Text FunctionText::foldText(const Fold& e) {
  const ValueType type = kernel_.type(e.a);
  if (type.lanes == 1) return value(e.a);
  std::vector<Text> lanes;
  for (int i = 0; i < type.lanes; ++i)
    lanes.push_back(isNarrow(e.a) ? castTo("long long", lane(e.a, i)) : lane(e.a, i));
  while (lanes.size() > 1 && lanes.size() % 2 == 0) {
    const size_t half = lanes.size() / 2;
    for (size_t i = 0; i < half; ++i) lanes[i] = binaryText(snippets_, e.kind, type.dtype, lanes[i], lanes[i + half]);
    lanes.resize(half);
  }
  for (size_t i = 1; i < lanes.size(); ++i) lanes[0] = binaryText(snippets_, e.kind, type.dtype, lanes[0], lanes[i]);
  return lanes[0];
}

Text FunctionText::prefixText(ExprId id, const Prefix& e) {
  const ValueType type = kernel_.type(e.a);
  if (type.lanes == 1) return value(e.a);
  const std::string from = array(e.a), name = nameFor(id);
  line(fmt::format("{} {}[{}];", typeOf(id), name, type.lanes));
  line(fmt::format("{}[0] = {}[0];", name, from));
  const Text last{from + "[l]", Level::atom};
  const Text next = binaryText(snippets_, e.kind, type.dtype, {name + "[l - 1]", Level::atom},
                               isNarrow(e.a) ? castTo("long long", last) : last);
  line("#pragma unroll");
  line(fmt::format("for (int l = 1; l < {}; ++l) {}[l] = {};", type.lanes, name, next.text));
  nesting_[id.index] = 0;
  remember(id, {{name + "[l]", Level::atom}, 0, name});
  return known(id)->text;
}

/// Threads exchange what they have so far: with the one across, at half the width first; for a prefix with the one so
/// far before, next to it first.
/// All lanes shuffle, also where && or || knows its result without the other side.
Text FunctionText::warpFoldText(ExprId id, const WarpFold& e) {
  const ValueType type = kernel_.type(id);
  const bool isVector = type.lanes > 1;
  const Text start = isVector ? value(e.a) : widened(e.a);
  const std::string name = isVector ? nameFor(id) : freshName();
  const std::string type_name = isVector ? typeOf(id) : typeName(snippets_, type.dtype);
  const Text own{isVector ? name + "[l]" : name, Level::atom};
  if (isVector) {
    line(fmt::format("{} {}[{}];", type_name, name, type.lanes));
    laneLoop(type.lanes, fmt::format("{} = {};", own.text, start.text));
  } else {
    line(fmt::format("{} {} = {};", type_name, name, start.text));
  }
  line("#pragma unroll");
  const std::string last = e.stride == 1 ? "> 0" : fmt::format(">= {}", e.stride);
  line(fmt::format("for (int d = {}; d {}; d /= 2) {{", e.width * e.stride / 2, last));
  if (isVector) line("  #pragma unroll"), line(fmt::format("  for (int l = 0; l < {}; ++l) {{", type.lanes));
  const std::string indent = isVector ? "    " : "  ";
  const Text across = call(snippets_.use("shuffle_xor"), {own, {"d", Level::atom}});
  line(fmt::format("{}const {} across = {};", indent, type_name, across.text));
  line(fmt::format("{}{} = {};", indent, own.text,
                   binaryText(snippets_, e.kind, type.dtype, own, {"across", Level::atom}).text));
  if (isVector) line("  }");
  line("}");
  nesting_[id.index] = 0;
  remember(id, {own, 0, isVector ? name : std::string()});
  return own;
}

Text FunctionText::warpPrefixText(ExprId id, const WarpPrefix& e) {
  const ValueType type = kernel_.type(e.a);
  const Text start = widened(e.a);
  const std::string name = freshName(), type_name = typeName(snippets_, type.dtype);
  const Text own{name, Level::atom};
  line(fmt::format("{} {} = {};", type_name, name, start.text));
  line("#pragma unroll");
  const Text before = call(fmt::format("{}<{}>", snippets_.use("shuffle_up"), e.width), {own, {"d", Level::atom}});
  const Text joined = binaryText(snippets_, e.kind, type.dtype, {"before", Level::atom}, own);
  line(fmt::format("for (int d = 1; d < {}; d *= 2) {{", e.width));
  line(fmt::format("  const {} before = {};", type_name, before.text));
  line(fmt::format("  if ({}() % {} >= d) {} = {};", snippets_.use("lane"), e.width, name, joined.text));
  line("}");
  nesting_[id.index] = 0;
  remember(id, {own, 0, {}});
  return own;
}

Text FunctionText::shiftText(ExprId id, const WarpShift& e) {
  const Text a = widened(e.a), first = widened(e.first);
  const std::string name = freshName(), type_name = typeName(snippets_, kernel_.type(e.a).dtype);
  const Text before = call(fmt::format("{}<{}>", snippets_.use("shuffle_up"), e.width), {a, {"1", Level::atom}});
  line(fmt::format("{} {} = {};", type_name, name, before.text));
  line(fmt::format("if ({}() % {} == 0) {} = {};", snippets_.use("lane"), e.width, name, first.text));
  const Text own{name, Level::atom};
  nesting_[id.index] = 0;
  remember(id, {own, 0, {}});
  return own;
}

/// Four neighbours share a block of random words.
Text FunctionText::philoxText(ExprId id, const Philox& e) {
  const int lanes = kernel_.type(id).lanes;
  const auto* run = std::get_if<Ramp>(&kernel_.expr(e.index).node);
  if (!run || lanes % 4 != 0 || ranges_[run->base.index].multiple % 4 != 0)
    return call(snippets_.use("philox"), {value(e.seed), value(e.offset), value(e.index)});
  const std::string name = nameFor(id);
  const Text base = value(run->base), seed = value(e.seed), offset = value(e.offset);
  line(fmt::format("long long {}[{}];", name, lanes));
  line(fmt::format("{}({}, {}, {}, {});", snippets_.use("philox_run"), name, seed.text, offset.text, base.text));
  nesting_[id.index] = 0;
  remember(id, {{name + "[l]", Level::atom}, 0, name});
  return known(id)->text;
}

}  // namespace tokamak::codegen::cuda
