#include "runtime/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/program.h"
#include "support/check.h"

namespace tokamak::runtime {

namespace {

constexpr int kInlineRank = 16;
constexpr int64_t kPieceBytes = 256 << 10;  // below which another thread is not worth its cost

/// A strided copy with adjacent axes merged: rows of `inner` elements, numbered over the outer axes.
struct StridedCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int64_t width = 1;                            // bytes of an element
  int64_t inner = 1, innerStride = 1;           // stride in elements
  std::vector<int64_t> deepShape, deepStrides;  // where the rank is above kInlineRank
  std::array<int64_t, kInlineRank> inlineShape{}, inlineStrides{};
  int outerRank = 0;
  int64_t rows = 1;

  const int64_t* shape() const { return deepShape.empty() ? inlineShape.data() : deepShape.data(); }
  const int64_t* strides() const { return deepShape.empty() ? inlineStrides.data() : deepStrides.data(); }
};

template <class T>
void copyRow(const std::byte* from, int64_t stride, int64_t count, std::byte* to) {
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  if (stride == 0) {
    std::fill_n(target, count, *source);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
  }
}

void copyUnaligned(const std::byte* from, int64_t stride, int64_t count, int64_t width, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * width, from + i * stride * width, width);
}

void copyOneRow(const StridedCopy& copy, const std::byte* from, std::byte* to) {
  if (copy.innerStride == 1) {
    std::memcpy(to, from, copy.inner * copy.width);
  } else if (reinterpret_cast<uintptr_t>(from) % copy.width != 0) {
    copyUnaligned(from, copy.innerStride, copy.inner, copy.width, to);
  } else {
    switch (copy.width) {
      case 1: return copyRow<uint8_t>(from, copy.innerStride, copy.inner, to);
      case 2: return copyRow<uint16_t>(from, copy.innerStride, copy.inner, to);
      case 4: return copyRow<uint32_t>(from, copy.innerStride, copy.inner, to);
      default: return copyRow<uint64_t>(from, copy.innerStride, copy.inner, to);
    }
  }
}

void copyRows(void* environment, int64_t begin, int64_t end, std::byte*) {
  const StridedCopy& copy = *static_cast<const StridedCopy*>(environment);
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, offset = 0;
    for (int axis = copy.outerRank - 1; axis >= 0; --axis) {
      const int64_t extent = copy.shape()[axis];
      offset += (rest % extent) * copy.strides()[axis];
      rest /= extent;
    }
    copyOneRow(copy, copy.from + offset * copy.width, copy.to + row * copy.inner * copy.width);
  }
}

void copyBytes(void* environment, int64_t begin, int64_t end, std::byte*) {
  const StridedCopy& copy = *static_cast<const StridedCopy*>(environment);
  std::memcpy(copy.to + begin, copy.from + begin, end - begin);
}

/// Drops axes of extent 1 and merges axes that lie one behind the other.
void mergeAxes(const TensorRef& tensor, StridedCopy& copy) {
  int64_t* shape = copy.inlineShape.data();
  int64_t* strides = copy.inlineStrides.data();
  if (tensor.rank > kInlineRank) {
    copy.deepShape.resize(tensor.rank), copy.deepStrides.resize(tensor.rank);
    shape = copy.deepShape.data(), strides = copy.deepStrides.data();
  }
  int rank = 0;
  for (int axis = 0; axis < tensor.rank; ++axis) {
    const int64_t extent = tensor.shape[axis], stride = tensor.strides[axis];
    if (extent == 1) continue;
    if (rank > 0 && strides[rank - 1] == extent * stride) {
      shape[rank - 1] *= extent;
      strides[rank - 1] = stride;
    } else {
      shape[rank] = extent, strides[rank] = stride;
      ++rank;
    }
  }
  copy.inner = rank ? shape[rank - 1] : 1;
  copy.innerStride = rank ? strides[rank - 1] : 1;
  copy.outerRank = std::max(0, rank - 1);
  for (int axis = 0; axis < copy.outerRank; ++axis) copy.rows *= shape[axis];
}

constexpr int64_t kTile = 32;

/// The last two axes are a transposed matrix: dense to read along one, to write along the other. Tiles keep both in
/// cache; they are numbered over the outer axes and bands of kTile rows.
template <class T>
void copyTiles(const StridedCopy& copy, int64_t begin, int64_t end) {
  const int64_t rows = copy.shape()[copy.outerRank - 1], columns = copy.inner, stride = copy.innerStride;
  const int64_t tileRows = (rows + kTile - 1) / kTile;
  for (int64_t tile = begin; tile < end; ++tile) {
    int64_t rest = tile / tileRows, offset = 0;
    for (int axis = copy.outerRank - 2; axis >= 0; --axis) {
      offset += (rest % copy.shape()[axis]) * copy.strides()[axis];
      rest /= copy.shape()[axis];
    }
    const T* from = reinterpret_cast<const T*>(copy.from) + offset;
    T* to = reinterpret_cast<T*>(copy.to) + tile / tileRows * rows * columns;
    const int64_t r0 = tile % tileRows * kTile, r1 = std::min(rows, r0 + kTile);
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t c1 = std::min(columns, c0 + kTile);
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c) to[r * columns + c] = from[r + c * stride];
    }
  }
}

void copyTransposed(void* environment, int64_t begin, int64_t end, std::byte*) {
  const StridedCopy& copy = *static_cast<const StridedCopy*>(environment);
  switch (copy.width) {
    case 1: return copyTiles<uint8_t>(copy, begin, end);
    case 2: return copyTiles<uint16_t>(copy, begin, end);
    case 4: return copyTiles<uint32_t>(copy, begin, end);
    default: return copyTiles<uint64_t>(copy, begin, end);
  }
}

class CopyCall final : public Call {
 public:
  Result<> run(const CallArguments& arguments) const override {
    StridedCopy copy{.from = static_cast<const std::byte*>(arguments.buffers[0]),
                     .to = static_cast<std::byte*>(arguments.buffers[1])};
    arguments.host->parallelFor(arguments.host, arguments.dims[0], kPieceBytes, 0, &copyBytes, &copy);
    return Unit{};
  }
};

}  // namespace

int64_t TensorRef::size() const {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= shape[i];
  return count;
}

bool TensorRef::contiguous() const {
  if (!strides) return true;
  int64_t expected = 1;
  bool dense = true;
  for (int i = rank - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) dense = false;
    expected *= shape[i];
  }
  return dense;
}

std::string TensorRef::str() const { return fmt::format("{}[{}]", nameOf(dtype), fmt::join(extents(), ", ")); }

void copyDense(const TensorRef& from, void* to, const KernelHost& host) {
  const int64_t bytes = from.bytes();
  if (bytes == 0) return;
  StridedCopy copy{.from = static_cast<const std::byte*>(from.data), .to = static_cast<std::byte*>(to)};
  copy.width = byteWidth(from.dtype);
  if (from.contiguous()) {
    host.parallelFor(&host, bytes, kPieceBytes, 0, &copyBytes, &copy);
    return;
  }
  mergeAxes(from, copy);
  const bool aligned = reinterpret_cast<uintptr_t>(from.data) % copy.width == 0;
  if (aligned && copy.outerRank > 0 && copy.strides()[copy.outerRank - 1] == 1 && copy.innerStride != 1) {
    const int64_t rows = copy.shape()[copy.outerRank - 1], tiles = (rows + kTile - 1) / kTile;
    const int64_t tileBytes = kTile * copy.inner * copy.width;
    host.parallelFor(&host, copy.rows / rows * tiles, kPieceBytes / tileBytes + 1, 0, &copyTransposed, &copy);
    return;
  }
  const int64_t rowBytes = copy.inner * copy.width;
  host.parallelFor(&host, copy.rows, kPieceBytes / rowBytes + 1, 0, &copyRows, &copy);
}

std::shared_ptr<const Call> makeCopyCall() { return std::make_shared<CopyCall>(); }

TensorRef refTo(const Array& array) {
  return {const_cast<void*>(array.data()), array.dtype(), static_cast<int>(array.shape().size()), array.shape().data(),
          nullptr};
}

Array copyOf(const Tensor& tensor) {
  Array out(tensor.dtype(), tensor.shape());
  if (out.bytes() > 0) std::memcpy(out.data(), tensor.data(), static_cast<size_t>(out.bytes()));
  return out;
}

}  // namespace tokamak::runtime
