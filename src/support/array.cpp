#include <sys/mman.h>

#include <new>
#include "support/array.h"

#include <fmt/format.h>

#include <cstring>

#include "support/check.h"
#include "support/scalar_op.h"

namespace tokamak {

void* allocateLarge(size_t bytes) {
  constexpr size_t kPage = size_t{2} << 20;
  const bool large = bytes > kPage / 2;
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  void* memory = large ? std::aligned_alloc(kPage, whole) : std::malloc(bytes ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  if (large) madvise(memory, whole, MADV_HUGEPAGE);  // a wish: small pages do as well
  return memory;
}

namespace {

constexpr size_t kAlignment = 64;

int64_t checkedSize(const std::vector<int64_t>& shape, DType dtype) {
  int64_t size = 1;
  bool overflows = false;
  for (int64_t extent : shape) {
    TK_CHECK(extent >= 0, fmt::format("extent {} of an array", extent));
    if (extent == 0) return 0;
    overflows = overflows || __builtin_mul_overflow(size, extent, &size);
  }
  int64_t bytes = 0;
  overflows = overflows || __builtin_mul_overflow(size, byteWidth(dtype), &bytes);
  TK_CHECK(!overflows, "size of an array overflows");
  return size;
}

/// Bytes to skip at the start of a vector's storage so that what follows is aligned.
size_t alignmentOffset(const auto& bytes) { return -reinterpret_cast<uintptr_t>(bytes.data()) & (kAlignment - 1); }

}  // namespace

Array::Array(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  size_ = checkedSize(shape_, dtype);
  bytes_.resize(static_cast<size_t>(bytes()) + kAlignment);
  offset_ = alignmentOffset(bytes_);
}

Array::Array(const Array& other) : dtype_(other.dtype_), shape_(other.shape_), size_(other.size_) {
  if (other.bytes_.empty()) return;
  bytes_.resize(other.bytes_.size());
  offset_ = alignmentOffset(bytes_);
  if (bytes() > 0) std::memcpy(data(), other.data(), static_cast<size_t>(bytes()));
}

Array& Array::operator=(const Array& other) {
  if (this != &other) *this = Array(other);
  return *this;
}

bool Array::operator==(const Array& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ && size_ == other.size_ &&
         (bytes() == 0 || std::memcmp(data(), other.data(), static_cast<size_t>(bytes())) == 0);
}

double Array::getDouble(int64_t i) const {
  switch (dtype_) {
    case DType::f16: return halfToFloat(as<uint16_t>()[i]);
    case DType::bf16: return bfloatToFloat(as<uint16_t>()[i]);
    case DType::f32: return as<float>()[i];
    case DType::f64: return as<double>()[i];
    default: return static_cast<double>(getInt(i));
  }
}

int64_t Array::getInt(int64_t i) const {
  switch (dtype_) {
    case DType::boolean: return as<uint8_t>()[i] != 0;
    case DType::u8: return as<uint8_t>()[i];
    case DType::i8: return as<int8_t>()[i];
    case DType::i16: return as<int16_t>()[i];
    case DType::i32: return as<int32_t>()[i];
    case DType::i64: return as<int64_t>()[i];
    default: return truncateToInt(getDouble(i));
  }
}

void Array::setDouble(int64_t i, double v) {
  switch (dtype_) {
    case DType::boolean: as<uint8_t>()[i] = v != 0; break;
    case DType::f16: as<uint16_t>()[i] = floatToHalf(static_cast<float>(roundTo(DType::f16, v))); break;
    case DType::bf16: as<uint16_t>()[i] = floatToBfloat(static_cast<float>(roundTo(DType::bf16, v))); break;
    case DType::f32: as<float>()[i] = static_cast<float>(v); break;
    case DType::f64: as<double>()[i] = v; break;
    default: setInt(i, truncateToInt(v));
  }
}

void Array::setInt(int64_t i, int64_t v) {
  switch (dtype_) {
    case DType::boolean: as<uint8_t>()[i] = v != 0; break;
    case DType::u8:
    case DType::i8: as<uint8_t>()[i] = static_cast<uint8_t>(v); break;
    case DType::i16: as<uint16_t>()[i] = static_cast<uint16_t>(v); break;
    case DType::i32: as<uint32_t>()[i] = static_cast<uint32_t>(v); break;
    case DType::i64: as<int64_t>()[i] = v; break;
    case DType::f32: as<float>()[i] = static_cast<float>(v); break;
    default: setDouble(i, static_cast<double>(v));
  }
}

}  // namespace tokamak
