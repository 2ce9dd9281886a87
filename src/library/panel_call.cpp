#ifdef TOKAMAK_HAS_ONEDNN
#include "library/panel_call.h"

#include <fmt/format.h>

#include "library/product_sums.h"

namespace tokamak::library {

namespace {

/// Runs a loop on the caller's thread.
struct CallerHost : KernelHost {
  CallerHost() : KernelHost{&CallerHost::run} {}
  static void run(const KernelHost*, int64_t count, int64_t, int64_t scratchBytes, ParallelBody body,
                  void* environment) {
    const ScratchLease scratch(threadScratchSource(), scratchBytes);
    body(environment, 0, count, scratch.data());
  }
};

}  // namespace

TileOps::TileOps(std::span<const PostOp> postOps) {
  const auto next = [&](const PostOp& wanted) {
    const bool there = count < postOps.size() && postOps[count] == wanted;
    count += there, operands += there;
    return there;
  };
  scaled = next({.kind = PostOpKind::mul, .broadcast = Broadcast::row});
  shifted = next({.kind = PostOpKind::add, .broadcast = Broadcast::row});
  added = next({.kind = PostOpKind::add});
  if (count == postOps.size()) return;
  const PostOp& last = postOps[count];
  if (last.kind == PostOpKind::relu) activation = PanelActivation::relu;
  if (last.kind == PostOpKind::gelu_erf) activation = PanelActivation::gelu;
  count += activation != PanelActivation::none;
}

void TileOps::addTo(PanelProduct& product, std::span<void* const> given) const {
  size_t next = 0;
  const auto operand = [&](bool there) { return there ? static_cast<const float*>(given[next++]) : nullptr; };
  product.scale = operand(scaled);
  product.shift = operand(shifted);
  product.added = operand(added);
  product.activation = activation;
}

int64_t PackedPanels::scratchBytes(const PanelProduct& product, bool constant) {
  return !constant && packsFirst(product) ? packedBytes(product.n, product.k) : 0;
}

Result<bool> PackedPanels::giveTo(PanelProduct& product, bool constant, std::byte* scratch,
                                  const KernelHost& host) const {
  if (constant) {
    TK_TRY(const Found found, find(product, host));
    product.packedB = found.panels;
    return found.finite;
  }
  if (!packsFirst(product)) return true;
  if (!scratch) return oneDnnError("packed operand", dnnl_out_of_memory);
  const bool finite = packB(product, reinterpret_cast<float*>(scratch), host);
  product.packedB = reinterpret_cast<const float*>(scratch);
  return finite;
}

Result<PackedPanels::Found> PackedPanels::find(const PanelProduct& product, const KernelHost& host) const {
  const int64_t taps = product.image ? product.image->taps() : 1;
  std::lock_guard lock(mutex_);
  for (const Packed& p : packed_)
    if (p.weights == product.b && p.n == product.n && p.k == product.k && p.taps == taps)
      return Found{reinterpret_cast<const float*>(p.memory.data()), p.finite};
  Packed made{product.b, product.n, product.k, taps, PackedMemory(packedBytes(product.n, product.k))};
  if (!made.memory.data()) return oneDnnError("packed weights", dnnl_out_of_memory);
  made.finite = packB(product, reinterpret_cast<float*>(made.memory.data()), host);
  const Packed& kept = packed_.emplace_back(std::move(made));
  return Found{reinterpret_cast<const float*>(kept.memory.data()), kept.finite};
}

const KernelHost& panelHost(const OneDnn& lib) {
  static const CallerHost caller;
  return lib.options.host ? *lib.options.host : caller;
}

std::string panelName(int64_t k) {
  const int64_t length = panelLength(k);
  return length < k ? fmt::format("panels in {} parts", (k + length - 1) / length) : "panels";
}

}  // namespace tokamak::library
#endif
