#pragma once

#include <array>
#include <cstdint>

#include "support/kernel_abi.h"

namespace tokamak::library {

/// What becomes of a result. Both keep NaN.
enum class PanelActivation : uint8_t { none, relu, gelu };

/// What a convolution sees of an image with channels last: row m of a matrix is a place of the result, [n, spatial...],
/// and its k terms are the elements of the kernel there, [kernel..., channels]. Zero outside the image.
struct PanelImage {
  int64_t channels = 0;
  std::array<int64_t, 3> input{1, 1, 1}, output{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, low{};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

/// c[m, n] = activation((a[m, k] * b[k, n] + bias[n]) * scale[n] + shift[n] + added[m, n]) in f32, c and added dense
/// row-major. A transposed operand is stored as [k, m] or [n, k]; strides are from one stored row to the next. Of a
/// batch of such products, whose results and what is added to them lie one after another, `stepA` and `stepB` lead from
/// operand to operand.
struct PanelProduct {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  const float* packedB = nullptr;  // what packB made of b, which is then not read; the same for all of a batch
  const float* bias = nullptr;     // [n], or none
  const float* scale = nullptr;    // or none
  const float* shift = nullptr;    // or none
  const float* added = nullptr;    // or none
  PanelActivation activation = PanelActivation::none;
  /// a is what it shows, and b lies as [n, channels, kernel...], packed unless the kernel is one element.
  const PanelImage* image = nullptr;
  float* c = nullptr;
  int64_t strideA = 0, strideB = 0, stepA = 0, stepB = 0;
  bool transposeA = false, transposeB = false;
  int64_t length = 0;  // terms that are added one after another before they are added to the result
};

/// Whether this processor has what the code below needs: AVX-512.
bool hasPanelProduct();

/// The product, by panels of both operands that are copied so that a tile of the result, held in registers, reads them
/// in order. The next panel of b is fetched while this one is multiplied, so that a b which nothing has read yet costs
/// little more than the arithmetic. Results depend on `length` alone, not on threads.
///
/// Requires both: hasPanelProduct().
void runPanelProduct(const PanelProduct& product, const KernelHost& host);

/// All panels of b, once and for all, for products with the same b, n, k and kernel. Tells whether the weights of
/// kernels are all finite: what is not makes NaN of the zeros around an image, of which nothing should be seen.
int64_t packedBytes(int64_t n, int64_t k);
/// Whether a b that is not kept packed is to be packed before the product rather than on the way: kernels are, and what
/// many rows share.
bool packsFirst(const PanelProduct& product);
bool packB(const PanelProduct& product, float* to, const KernelHost& host);

}  // namespace tokamak::library
