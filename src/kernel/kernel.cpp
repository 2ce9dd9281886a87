#include "kernel/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/check_expr.h"
#include "kernel/words.h"
#include "support/hash.h"

namespace tokamak::kernel {

namespace {

uint64_t hashOf(const Scalar& s) {
  if (!s.isFloat) return static_cast<uint64_t>(s.i);
  return hashMix(1, std::isnan(s.d) ? 0x7ff8000000000000ull : std::bit_cast<uint64_t>(s.d));
}

/// The operands and attributes of a node, mixed; equal nodes give equal numbers.
struct NodeHash {
  uint64_t operator()(const Imm& n) const { return hashOf(n.value); }
  uint64_t operator()(const Symbol& n) const { return hashBytes(n.name); }
  uint64_t operator()(const Var& n) const { return n.var.index; }
  uint64_t operator()(const Un& n) const { return mix(n.kind, n.a); }
  uint64_t operator()(const Bin& n) const { return mix(n.kind, n.a, n.b); }
  uint64_t operator()(const Sel& n) const { return mix(n.condition, n.a, n.b); }
  uint64_t operator()(const Convert& n) const { return n.a.index; }
  uint64_t operator()(const Load& n) const { return hashMix(mix(n.buffer, n.index, n.mask, n.cache), n.aligned); }
  uint64_t operator()(const Splat& n) const { return n.a.index; }
  uint64_t operator()(const Ramp& n) const { return n.base.index; }
  uint64_t operator()(const Fold& n) const { return mix(n.kind, n.a); }
  uint64_t operator()(const Prefix& n) const { return mix(n.kind, n.a); }
  uint64_t operator()(const WarpFold& n) const {
    return hashMix(mix(n.kind, n.a), static_cast<uint64_t>(n.width * (kWarpSize + 1) + n.stride));
  }
  uint64_t operator()(const WarpPrefix& n) const { return hashMix(mix(n.kind, n.a), static_cast<uint64_t>(n.width)); }
  uint64_t operator()(const WarpShift& n) const { return hashMix(mix(n.a, n.first), static_cast<uint64_t>(n.width)); }
  uint64_t operator()(const Extract& n) const { return hashMix(n.a.index, static_cast<uint64_t>(n.lane)); }
  uint64_t operator()(const Philox& n) const { return mix(n.seed, n.offset, n.index); }
  uint64_t operator()(const Within& n) const { return mix(n.a, n.extent, n.mask); }

 private:
  template <class Tag>
  static uint64_t word(Id<Tag> id) {
    return id.index;
  }
  template <NamedEnum E>
  static uint64_t word(E e) {
    return static_cast<uint64_t>(e);
  }
  template <class... T>
  static uint64_t mix(T... fields) {
    uint64_t h = 0;
    ((h = hashMix(h, word(fields))), ...);
    return h;
  }
};

uint64_t hashOf(const Expr& e) {
  const uint64_t shape =
      e.node.index() << 32 | static_cast<uint64_t>(e.type.lanes) << 8 | static_cast<uint64_t>(e.type.dtype);
  return hashMix(std::visit(NodeHash{}, e.node), shape);
}

}  // namespace

std::string ValueType::str() const {
  return lanes == 1 ? std::string(nameOf(dtype)) : fmt::format("{}x{}", nameOf(dtype), lanes);
}

std::string Kernel::uniqueName(std::string_view base) {
  std::string stem = asIdentifier(base);
  auto [entry, fresh] = lastSuffix_.try_emplace(stem, 0);
  if (fresh && !isReserved(stem)) return stem;
  for (int& last = entry->second;;) {
    std::string name = fmt::format("{}_{}", stem, ++last);
    if (lastSuffix_.try_emplace(name, 0).second) return name;
  }
}

BufferId Kernel::addBuffer(Buffer buffer) {
  buffer.name = uniqueName(buffer.name);
  buffers.push_back(std::move(buffer));
  return BufferId(buffers.size() - 1);
}

VarId Kernel::addVariable(std::string baseName, ValueType type, bool isMutable) {
  variables.push_back({uniqueName(baseName), type, isMutable});
  return VarId(variables.size() - 1);
}

ExprId Kernel::intern(Expr expr) {
  if (slots_.size() < 2 * (exprs_.size() + 1)) growSlots();
  const uint64_t hash = hashOf(expr);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at] == ExprId::kNone) {
      slots_[at] = static_cast<uint32_t>(exprs_.size());
      hashes_.push_back(hash);
      exprs_.push_back(std::move(expr));
      return ExprId(exprs_.size() - 1);
    }
    if (hashes_[slots_[at]] == hash && exprs_[slots_[at]] == expr) return ExprId(slots_[at]);
  }
}

void Kernel::growSlots() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 2), ExprId::kNone);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < hashes_.size(); ++i) {
    size_t at = hashes_[i] & mask;
    while (slots_[at] != ExprId::kNone) at = (at + 1) & mask;
    slots_[at] = static_cast<uint32_t>(i);
  }
}

}  // namespace tokamak::kernel
