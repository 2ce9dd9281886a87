#include <fmt/format.h>

#include "graph/infer/site.h"

namespace tokamak {

namespace infer {

Result<TensorType> inferAt(const Site& site) {
  TK_TRY(TensorType type, std::visit([&](const auto& op) { return inferOp(op, site); }, site.op));
  if (auto status = checkType(type); !status) {
    Diagnostic error = status.error();
    error.message = fmt::format("{}: {}", mnemonic(site.op), error.message);
    return error;
  }
  return type;
}

namespace {

constexpr size_t kMaxRank = 16;
constexpr size_t kMaxTerms = 256;     // of the element count, a product of sums
constexpr size_t kMaxDimText = 1024;  // what Dim::parse reads back
constexpr uint64_t kMaxBytes = 1ull << 62;

/// Sum of the magnitudes of the coefficients: bounds those of any product.
uint64_t norm(const Dim& d) {
  const auto magnitude = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
  if (auto c = d.constant()) return magnitude(*c);
  uint64_t sum = 0;
  for (const auto& term : d.terms())
    if (__builtin_add_overflow(sum, magnitude(term.coefficient), &sum)) return ~0ull;
  return sum;
}

Diagnostic badType(const TensorType& type, std::string_view what, std::string hint) {
  std::string shown = type.str();
  if (shown.size() > 200) shown = shown.substr(0, 200) + "...";
  return {"T0206", {}, fmt::format("the type {} {}", shown, what), std::move(hint)};
}

}  // namespace

Result<> checkType(const TensorType& type) {
  if (type.rank() > kMaxRank)
    return Diagnostic{
        "T0206", {}, fmt::format("a type has rank {}", type.rank()), fmt::format("use rank {} at most", kMaxRank)};
  uint64_t bytes = static_cast<uint64_t>(byteWidth(type.dtype));
  size_t terms = 1;
  for (const Dim& extent : type.shape) {
    if (isSurelyNegative(extent))
      return badType(type, fmt::format("has the extent {}", extent.str()), "extents are 0 or more");
    if (__builtin_mul_overflow(bytes, std::max<uint64_t>(1, norm(extent)), &bytes) || bytes > kMaxBytes)
      return badType(type, "is larger than any memory", "use smaller extents");
    terms *= std::max<size_t>(1, extent.terms().size());
    if (terms > kMaxTerms || extent.str().size() > kMaxDimText)
      return badType(type, "has extents too long to multiply", "name parts of them by symbols of their own");
  }
  return Unit{};
}

}  // namespace infer

Result<TensorType> inferType(const Op& op, const std::vector<TensorType>& operands, const TensorType* declared) {
  if (declared) TK_RETURN_IF_ERROR(infer::checkType(*declared));
  for (const TensorType& type : operands) TK_RETURN_IF_ERROR(infer::checkType(type));
  return infer::inferAt({op, operands, declared, [](size_t i) { return fmt::format("operand {}", i); }});
}

}  // namespace tokamak
