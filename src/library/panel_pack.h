#pragma once

#include "library/panel_product.h"

/// How operands of a product are copied into panels: what a tile reads in order. AVX-512 only.
namespace tokamak::library {

constexpr int kLanes = 16, kTileRows = 8, kTileVectors = 3;  // 24 sums, three of b and one of a: 28 of 32 registers
constexpr int kPanelA = kTileRows, kPanelB = kLanes * kTileVectors;

inline uint16_t firstLanes(int64_t count) {
  return count >= kLanes ? 0xffff : count <= 0 ? 0 : static_cast<uint16_t>((1u << count) - 1);
}

/// `width` rows of a or columns of b, and `length` of their terms, which lie in a row or each in one of its own.
struct Panel {
  const float* from;
  int64_t stride, width, length;
  bool termsInRows;

  /// to[term][i] for a panel of kPanelA or kPanelB; zeros where it has fewer rows or columns. Where that takes a while
  /// it asks for what `following` reads.
  void pack(float* to, int64_t panel, const Panel& following) const;
  /// Asks for the `part`-th of `parts` shares of it.
  void fetch(int64_t part, int64_t parts) const;
};

/// to[tap * channels + channel][i] for kernels, [channels, taps] each. Tells whether they are finite.
bool packKernels(const Panel& kernels, int64_t channels, float* to, const Panel& following);

using RowPointers = std::array<const float*, kTileRows>;

/// Whether elements of the kernel that lie side by side have few channels and are taken together.
bool takesRuns(const PanelImage& image);

/// The rows of a that a panel of eight takes, as an image shows them. What follows one another in the image is taken in
/// one run: the channels of an element of the kernel or, where these are few, those of all elements side by side.
class ImageRows {
 public:
  static constexpr int64_t kLongestRun = 64;  // elements, if some may lie beyond the image's edge

  ImageRows(const PanelImage& image, const float* from, int64_t row, int64_t count);

  /// Terms [begin, end).
  void pack(int64_t begin, int64_t end, float* to);
  /// Where run number `run` of each row lies, from its element `offset` on; null beyond the image.
  RowPointers at(int64_t run, int64_t offset);

 private:
  int64_t flat(const std::array<int64_t, 3>& at) const {
    return (at[0] * image_.input[1] + at[1]) * image_.input[2] + at[2];
  }

  const PanelImage& image_;
  const float* from_;
  int64_t count_, beside_, run_;
  bool inside_ = true;                                           // all elements of the kernel of all rows
  std::array<std::array<int64_t, 3>, kTileRows> first_;          // where the kernel of each row begins
  std::array<int64_t, kTileRows> origin_;                        // the same, in elements from `from`
  std::array<std::array<float, kLongestRun>, kTileRows> edges_;  // runs that reach beyond the image
};

}  // namespace tokamak::library
