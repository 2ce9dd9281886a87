#include <bit>
#include <numeric>

#include "kernel/writer.h"

/// What Writer knows of alignment: numbers that divide an index.
namespace tokamak::kernel {

namespace {
constexpr int64_t kEnough = int64_t{1} << 20;  // more is never asked
constexpr int64_t kAccessBytes = 16;           // the widest access of a GPU's thread
}  // namespace

int64_t Writer::multipleOf(ExprId a) const {
  const ExprNode& node = kernel_.expr(a).node;
  if (const Imm* imm = std::get_if<Imm>(&node)) {
    if (imm->value.isFloat) return 1;
    return static_cast<int64_t>(std::min<uint64_t>(
        imm->value.i < 0 ? 0 - static_cast<uint64_t>(imm->value.i) : static_cast<uint64_t>(imm->value.i), INT64_MAX));
  }
  if (const Var* var = std::get_if<Var>(&node)) {
    const auto it = multiples_.find(var->var);
    return it == multiples_.end() ? 1 : it->second;
  }
  if (const Sel* sel = std::get_if<Sel>(&node)) return std::gcd(multipleOf(sel->a), multipleOf(sel->b));
  const Bin* bin = std::get_if<Bin>(&node);
  if (!bin || isFloat(kernel_.type(a).dtype)) return 1;
  const auto right = asConstant(bin->b);
  using enum BinaryKind;
  switch (bin->kind) {
    case add:
    case sub:
    case max:
    case min: return std::gcd(multipleOf(bin->a), multipleOf(bin->b));
    case mul: {
      const int64_t x = std::gcd(multipleOf(bin->a), kEnough), y = std::gcd(multipleOf(bin->b), kEnough);
      return x * y;  // powers of two are all that matters
    }
    case div: {
      const int64_t x = multipleOf(bin->a);
      return right && *right > 0 && x % *right == 0 ? x / *right : 1;
    }
    case fmod: return right && *right > 0 ? std::gcd(multipleOf(bin->a), *right) : 1;
    case bit_and:
      return right && *right != 0 ? int64_t{1} << std::min(std::countr_zero(static_cast<uint64_t>(*right)), 20) : 1;
    default: return 1;
  }
}

bool Writer::isAligned(BufferId buffer, ExprId index, int lanes) const {
  const Buffer& target = kernel_.buffer(buffer);
  if (!findsAligned_ || target.scope == Scope::local || lanes == 1 || this->lanes(index) != 1) return false;
  if (!std::has_single_bit(static_cast<unsigned>(lanes))) return false;
  const int64_t unit = std::min<int64_t>(lanes, kAccessBytes / byteWidth(target.dtype));
  return multipleOf(index) % unit == 0;
}

}  // namespace tokamak::kernel
