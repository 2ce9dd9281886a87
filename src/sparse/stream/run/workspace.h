#pragma once

#include <bit>
#include <map>
#include <vector>

#include "sparse/stream/run/fold.h"

namespace tokamak::stream {

/// Values by coordinate: an array over the coordinates seen, with two levels of bits that say which are there, so that
/// folding is one addition and emptying costs what is stored. Coordinates beyond a bound go to a map.
template <FoldOp op>
class Workspace {
 public:
  void fold(uint64_t at, double value) {
    if (at >= values_.size()) [[unlikely]] {
      if (at >= kBound) {
        foldFar(at, value);
        return;
      }
      enlarge(at);
    }
    values_[at] = stream::fold<op>(values_[at], value);
    used_[at >> 6] |= uint64_t{1} << (at & 63);
    blocks_[at >> 12] |= uint64_t{1} << (at >> 6 & 63);
  }

  /// The same, and keeps count of the entries.
  void foldCounted(uint64_t at, double value) {
    const bool isNew = at < values_.size() ? (used_[at >> 6] >> (at & 63) & 1) == 0 : !far_.contains(at);
    fold(at, value);
    size_ += isNew ? 1 : 0;
  }
  size_t size() const { return size_; }  // entries folded with foldCounted

  /// Calls `take(coordinate, value)` for each entry in order of coordinate and forgets it.
  template <class F>
  void drain(F take) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (uint64_t block = blocks_[b]; block != 0; block &= block - 1) {
        const size_t w = b * 64 + static_cast<size_t>(std::countr_zero(block));
        for (uint64_t word = used_[w]; word != 0; word &= word - 1) {
          const size_t at = w * 64 + static_cast<size_t>(std::countr_zero(word));
          take(at, values_[at]);
          values_[at] = foldIdentity(op);
        }
        used_[w] = 0;
      }
      blocks_[b] = 0;
    }
    for (const auto& [at, value] : far_) take(at, value);
    far_.clear();
    size_ = 0;
  }

  size_t bytes() const { return values_.size() * sizeof(double) + far_.size() * 48; }

 private:
  static constexpr uint64_t kBound = uint64_t{1} << 22;

  void enlarge(uint64_t at) {
    const size_t size = std::max<size_t>(4096, std::bit_ceil(at + 1));
    values_.resize(size, foldIdentity(op));
    used_.resize(size / 64, 0);
    blocks_.resize(size / 4096, 0);
  }
  void foldFar(uint64_t at, double value) {
    const auto [it, fresh] = far_.try_emplace(at, value);
    if (!fresh) it->second = stream::fold<op>(it->second, value);
  }

  std::vector<double> values_;
  std::vector<uint64_t> used_, blocks_;  // a bit a value, a bit a word of those
  std::map<uint64_t, double> far_;
  size_t size_ = 0;
};

}  // namespace tokamak::stream
