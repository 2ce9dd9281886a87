#include "graph/infer/site.h"

#include <fmt/format.h>

namespace tokamak::infer {

Diagnostic Site::fail(std::string code, std::string message, std::string hint) const {
  return {std::move(code), {}, fmt::format("{}: {}", mnemonic(op), message), std::move(hint)};
}

Result<> Site::expectCount(size_t least, size_t most) const {
  if (count() >= least && count() <= most) return Unit{};
  const std::string wanted = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  return fail("T0201", fmt::format("{} operands given, {} wanted", count(), wanted),
              "docs/ir.md lists the operands of every op");
}

Result<TensorType> Site::needDeclared() const {
  if (declared) return *declared;
  return fail("T0211", "the type of its result has to be declared",
              "pass the declared type; it says the result's shape or dtype");
}

Result<> Site::expectDtype(size_t i, DType wanted) const {
  if (operand(i).dtype == wanted) return Unit{};
  return fail("T0202", fmt::format("{} should be {}", show(i), nameOf(wanted)),
              fmt::format("insert a cast of {} to {}", label(i), nameOf(wanted)));
}

Result<> Site::expectFloat(size_t i) const {
  if (isFloat(operand(i).dtype)) return Unit{};
  return fail("T0202", fmt::format("{} should be a float", show(i)),
              fmt::format("insert a cast of {} to f32", label(i)));
}

Result<> Site::expectOneDtype(size_t first) const {
  for (size_t i = first + 1; i < count(); ++i)
    if (operand(i).dtype != operand(first).dtype)
      return fail(
          "T0202", fmt::format("{} and {} have different dtypes", show(first), show(i)),
          fmt::format("insert a cast of one of them to {}", nameOf(promote(operand(first).dtype, operand(i).dtype))));
  return Unit{};
}

Result<> Site::expectShape(size_t i, const Shape& wanted, std::string_view why) const {
  if (operand(i).shape == wanted) return Unit{};
  return fail("T0203", fmt::format("{} should have shape {}, {}", show(i), str(wanted), why),
              fmt::format("insert a {} of {} to {}", operand(i).rank() <= wanted.size() ? "broadcast" : "reshape",
                          label(i), str(wanted)));
}

Result<> Site::expectRank(size_t i, size_t least, std::string_view why) const {
  if (operand(i).rank() >= least) return Unit{};
  return fail("T0203", fmt::format("{} has rank {}, but {}", show(i), operand(i).rank(), why),
              fmt::format("insert a reshape of {} to rank {} or more", label(i), least));
}

Result<> Site::expectAxis(Axis axis, size_t rank) const {
  if (axis >= 0 && axis < static_cast<Axis>(rank)) return Unit{};
  return fail("T0204", fmt::format("axis {} is outside rank {}", axis, rank),
              rank == 0 ? "a tensor of rank 0 has no axes" : fmt::format("axes count from 0 to {}", rank - 1));
}

Result<> Site::expectAxes(const std::vector<Axis>& axes, size_t rank) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    TK_RETURN_IF_ERROR(expectAxis(axes[i], rank));
    if (i > 0 && axes[i] <= axes[i - 1])
      return fail("T0204", fmt::format("axis {} comes after axis {}", axes[i], axes[i - 1]),
                  "list each axis once, in increasing order");
  }
  return Unit{};
}

Result<> Site::expectList(std::string_view name, const std::vector<int64_t>& list, size_t length, int64_t least) const {
  if (list.size() != length)
    return fail("T0204", fmt::format("{} has {} entries, {} wanted", name, list.size(), length),
                fmt::format("write one entry for each of the {} axes, such as {} = [{}]", length, name,
                            fmt::join(std::vector(length, std::max<int64_t>(least, 0)), ", ")));
  for (int64_t v : list)
    if (v < least || v > (int64_t{1} << 31))
      return fail("T0204", fmt::format("{} holds {}", name, v), fmt::format("use values from {} to 2147483648", least));
  return Unit{};
}

/// Whether every term is of one sign, up to symbols being at least 0: +1, -1, or 0 when it cannot be said. `strict`
/// tells whether the constant term alone keeps the sum off zero.
static int signOf(const Dim& d, bool& strict) {
  if (auto c = d.constant()) {
    strict = *c != 0;
    return *c < 0 ? -1 : 1;
  }
  int sign = 0;
  strict = false;
  for (const auto& term : d.terms()) {
    const int s = term.coefficient < 0 ? -1 : 1;
    if (sign != 0 && s != sign) return 0;
    sign = s;
    strict = strict || term.factors.empty();
    for (const auto& factor : term.factors)
      if (factor.kind != Dim::AtomKind::symbol) return 0;
  }
  return sign;
}

bool isSurelyNegative(const Dim& d) {
  bool strict = false;
  return signOf(d, strict) < 0 && strict;
}

bool surelyDiffer(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  bool strict = false;
  return !difference.is(0) && signOf(difference, strict) != 0;
}

Result<> expectFits(const Site& site, const Scalar& value, DType dtype) {
  if (isFloat(dtype)) return Unit{};
  const bool fits =
      !value.isFloat && (dtype == DType::boolean ? value.i == 0 || value.i == 1 : wrapTo(dtype, value.i) == value.i);
  if (fits) return Unit{};
  return site.fail("T0210", fmt::format("{} is not a value of {}", value.str(), nameOf(dtype)),
                   dtype == DType::boolean
                       ? "use true or false"
                       : fmt::format("use an integer in the range of {}, or another dtype", nameOf(dtype)));
}

Result<Dim> windowExtent(const Site& site, const Dim& n, const Dim& window, int64_t stride, int64_t low, int64_t high,
                         int64_t dilation) {
  const Dim room = n + Dim(low) + Dim(high) - Dim(dilation) * (window - Dim(1)) - Dim(1);
  if (isSurelyNegative(room))
    return site.fail("T0203",
                     fmt::format("a window of {} with dilation {} is larger than the padded extent {}", window.str(),
                                 dilation, (n + Dim(low) + Dim(high)).str()),
                     "pad more, or use a smaller window");
  return Dim::floorDiv(room, Dim(stride)) + Dim(1);
}

}  // namespace tokamak::infer
