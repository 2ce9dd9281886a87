#pragma once

#include <mutex>

#include "library/onednn_primitive.h"
#include "library/panel_product.h"

namespace tokamak::library {

/// The post-ops that are applied to tiles of a product as they are made: those of [mul a row] [add a row] [add a
/// matrix] [relu or gelu] that come first, in this order.
struct TileOps {
  bool scaled = false, shifted = false, added = false;
  PanelActivation activation = PanelActivation::none;
  size_t count = 0, operands = 0;  // post-ops that are among them, and operands of these

  explicit TileOps(std::span<const PostOp> postOps);
  /// `given`: operands of the post-ops, in order.
  void addTo(PanelProduct& product, std::span<void* const> given) const;
};

/// Weights in panels: constant ones are packed when they are first asked for.
class PackedPanels {
 public:
  /// What `giveTo` needs for one call.
  static int64_t scratchBytes(const PanelProduct& product, bool constant);
  /// Has the product read panels: those that are kept of constant weights, or new ones in the call's scratch where
  /// packing first pays. Tells whether the weights are finite, see packB.
  Result<bool> giveTo(PanelProduct& product, bool constant, std::byte* scratch, const KernelHost& host) const;

 private:
  struct Found {
    const float* panels;
    bool finite;
  };
  Result<Found> find(const PanelProduct& product, const KernelHost& host) const;

  struct Packed {
    const void* weights;
    int64_t n, k, taps;
    PackedMemory memory;
    bool finite = true;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Packed> packed_;
};

/// What runs the loops: the library's host, or the caller's thread where it has none.
const KernelHost& panelHost(const OneDnn& lib);

/// "panels", and in how many parts.
std::string panelName(int64_t k);

}  // namespace tokamak::library
