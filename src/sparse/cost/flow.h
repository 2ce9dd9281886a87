#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "sparse/format/tensor.h"

namespace tokamak::sparse {

/// How often each coordinate of a variable, or each position of a stored level, comes in a stream.
using Weights = std::shared_ptr<const std::vector<double>>;

/// How many fibers have how many elements: a histogram, exact for small fibers, by quarter octaves beyond.
class FiberSizes {
 public:
  struct Bucket {
    double fibers = 0, elements = 0;
    double size() const { return fibers > 0 ? elements / fibers : 0; }
  };

  void add(double size, double fibers) {
    const size_t b = size < 16 ? static_cast<size_t>(std::lround(size)) : static_cast<size_t>(4 * std::log2(size));
    if (b >= buckets_.size()) buckets_.resize(b + 1);
    buckets_[b].fibers += fibers;
    buckets_[b].elements += size * fibers;
  }
  /// Each fiber `elements` times as long and each size `fibers` times as often.
  FiberSizes scaled(double elements, double fibers) const {
    FiberSizes out;
    for (const Bucket& b : buckets_)
      if (b.fibers > 0) out.add(b.size() * elements, b.fibers * fibers);
    return out;
  }
  const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  std::vector<Bucket> buckets_;
};

/// What is known of a stream: how many elements it has at each of its loops, and which.
struct Flow {
  std::vector<double> counts = {1};     // outermost first; the last is the stream's own number of elements
  double absent = 0;                    // of them, without a position
  FiberSizes sizes;                     // of the innermost fibers
  Weights coordinates;                  // of a stream of coordinates; null: each as often as any other
  double extent = 1;                    // of the variable whose coordinates they are
  Weights positions;                    // of a stream of references; null likewise
  const LevelStorage* level = nullptr;  // whose positions they are; null above the first
  int row = -1;                         // the variable of that level
  Weights fiberByParent;                // mean size of the fibers below each coordinate of the row `parentRow`
  int parentRow = -1;

  double elements() const { return counts.back(); }
  double fibers() const { return counts.size() > 1 ? counts[counts.size() - 2] : 1; }
  double tokens() const { return elements() + fibers(); }
  double present() const { return elements() - absent; }
};

/// The coordinate of a position of a level.
inline size_t coordinateAt(const LevelStorage& level, size_t position) {
  return level.crd.empty() ? position % static_cast<size_t>(level.size > 0 ? level.size : 1)
                           : static_cast<size_t>(level.crd[position]);
}

}  // namespace tokamak::sparse
