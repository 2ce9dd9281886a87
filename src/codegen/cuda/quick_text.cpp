#include <cmath>
#include <numbers>

#include "codegen/cuda/function_text.h"

/// The part of FunctionText that knows what may be computed otherwise where results are rounded to halves: functions
/// take in the numbers that stand around them, and a factor that all lanes share is taken in by what it multiplies.
namespace tokamak::codegen::cuda {

using namespace kernel;

namespace {

constexpr int kMaxDepth = 4;  // of a sum that takes in a factor

}  // namespace

const ExprNode& FunctionText::behind(ExprId id) const {
  if (auto* var = std::get_if<Var>(&kernel_.expr(id).node))
    if (auto let = lets_.find(var->var); let != lets_.end() && !changing_[let->second.index])
      return kernel_.expr(let->second).node;
  return kernel_.expr(id).node;
}

std::optional<double> FunctionText::numberOf(ExprId id) const {
  const ExprNode* node = &kernel_.expr(id).node;
  if (auto* splat = std::get_if<Splat>(node)) node = &kernel_.expr(splat->a).node;
  auto* imm = std::get_if<Imm>(node);
  return imm && kernel_.type(id).dtype == DType::f32 ? std::optional(imm->value.asDouble()) : std::nullopt;
}

std::pair<ExprId, double> FunctionText::scaledBy(ExprId id) const {
  if (auto* product = std::get_if<Bin>(&behind(id)); product && product->kind == BinaryKind::mul) {
    if (const auto c = numberOf(product->b)) return {product->a, *c};
    if (const auto c = numberOf(product->a)) return {product->b, *c};
  }
  return {id, 1.0};
}

std::optional<Text> FunctionText::quickText(const Un& e) {
  if (e.kind != UnaryKind::exp) return {};
  return exponential(e, 1.0);
}

/// k exp(c x) with one product, or one product and a sum.
std::optional<Text> FunctionText::exponential(const Un& e, double k) {
  if (!snippets_.quick() || kernel_.type(e.a).dtype != DType::f32) return {};
  const auto [x, c] = scaledBy(e.a);
  const double factor = c * std::numbers::log2e;
  if (c == 1.0 || !std::isfinite(static_cast<float>(factor))) return {};
  const Text by = immediateText(DType::f32, Scalar::of(factor));
  if (k == 1.0) return call(snippets_.use("exp2_quick"), {infix(value(x), "*", by, Level::product)});
  const Text more = immediateText(DType::f32, Scalar::of(std::log2(static_cast<double>(static_cast<float>(k)))));
  return call(snippets_.use("exp2_quick"), {call("fmaf", {value(x), by, more})});
}

/// k (erf(c x) + 1), of which nothing is left to see near zero.
std::optional<Text> FunctionText::onePlusErf(const Bin& sum, double k) {
  if (sum.kind != BinaryKind::add) return {};
  for (const auto& [one, other] : {std::pair(sum.a, sum.b), std::pair(sum.b, sum.a)}) {
    auto* function = std::get_if<Un>(&behind(other));
    if (!function || function->kind != UnaryKind::erf || numberOf(one) != 1.0) continue;
    auto [x, c] = scaledBy(function->a);
    if (!(c > 0)) x = function->a, c = 1.0;
    const Text times = immediateText(DType::f32, Scalar::of(k));
    const Text erf = call(snippets_.use("erf_far"), {value(x), immediateText(DType::f32, Scalar::of(c)), times});
    return infix(erf, "+", times, Level::sum);
  }
  return {};
}

/// a / sqrt(x), where lanes share x, as a product: infinite, zero and not a number where the quotient is.
std::optional<Text> FunctionText::overRoot(const Bin& quotient) {
  auto* shared = std::get_if<Splat>(&behind(quotient.b));
  auto* root = shared ? std::get_if<Un>(&behind(shared->a)) : nullptr;
  if (!root || root->kind != UnaryKind::sqrt) return {};
  const Text factor = unaryText(snippets_, UnaryKind::rsqrt, DType::f32, value(root->a));
  return infix(value(quotient.a), "*", factor, Level::product);
}

std::optional<Text> FunctionText::quickText(const Bin& e) {
  if (!snippets_.quick() || kernel_.type(e.a).dtype != DType::f32) return {};
  if (e.kind == BinaryKind::add) return onePlusErf(e, 1.0);
  if (e.kind == BinaryKind::div) return overRoot(e);
  if (e.kind != BinaryKind::mul) return {};
  for (const auto& [factor, other] : {std::pair(e.a, e.b), std::pair(e.b, e.a)}) {
    if (const auto k = numberOf(factor); k && *k > 0) {
      if (auto* sum = std::get_if<Bin>(&behind(other)))
        if (const auto text = onePlusErf(*sum, *k)) return text;
      auto* function = std::get_if<Un>(&behind(other));
      if (function && function->kind == UnaryKind::exp && *k != 1.0)
        if (const auto text = exponential(*function, *k)) return text;
    }
    if (const auto [x, k] = scaledBy(factor); x != factor && k > 0)
      if (auto* sum = std::get_if<Bin>(&behind(other)))
        if (const auto text = onePlusErf(*sum, k)) return infix(value(x), "*", *text, Level::product);
    if (const auto text = spread(factor, other)) return text;
  }
  return {};
}

/// s (a - b - c x), where lanes share s, b and c, as a s - b s - x (c s): products of a and x alone, each with its sum.
/// With one shared term less there is as much to lose as to gain: (a - b) s is nothing but roundings where a is b.
std::optional<Text> FunctionText::spread(ExprId factor, ExprId sum) {
  if (!isShared(factor) || numberOf(factor)) return {};
  Terms terms;
  countTerms(sum, 0, terms);
  if (terms.own > 1 || terms.shared < 2) return {};
  return timesShared(sum, value(factor), 0);
}

bool FunctionText::isShared(ExprId id) const { return std::holds_alternative<Splat>(kernel_.expr(id).node); }

/// The factor that lanes share of a product, and the other one.
std::optional<std::pair<ExprId, ExprId>> FunctionText::sharedFactor(ExprId id) const {
  auto* product = std::get_if<Bin>(&behind(id));
  if (!product || product->kind != BinaryKind::mul) return {};
  if (isShared(product->a)) return std::pair(product->a, product->b);
  if (isShared(product->b)) return std::pair(product->b, product->a);
  return {};
}

const Bin* FunctionText::sumBehind(ExprId id) const {
  auto* sum = std::get_if<Bin>(&behind(id));
  return sum && (sum->kind == BinaryKind::add || sum->kind == BinaryKind::sub) ? sum : nullptr;
}

void FunctionText::countTerms(ExprId id, int depth, Terms& terms) const {
  const Bin* sum = depth < kMaxDepth ? sumBehind(id) : nullptr;
  if (!sum) {
    ++(isShared(id) || sharedFactor(id) ? terms.shared : terms.own);
    return;
  }
  countTerms(sum->a, depth + 1, terms);
  countTerms(sum->b, depth + 1, terms);
}

Text FunctionText::timesShared(ExprId id, const Text& factor, int depth) {
  if (const Bin* sum = depth < kMaxDepth ? sumBehind(id) : nullptr) {
    const Text a = timesShared(sum->a, factor, depth + 1), b = timesShared(sum->b, factor, depth + 1);
    return infix(a, sum->kind == BinaryKind::add ? "+" : "-", b, Level::sum);
  }
  if (const auto product = sharedFactor(id)) {
    const Text both = infix(value(product->first), "*", factor, Level::product);
    return infix(value(product->second), "*", both, Level::product);
  }
  return infix(value(id), "*", factor, Level::product);
}

}  // namespace tokamak::codegen::cuda
