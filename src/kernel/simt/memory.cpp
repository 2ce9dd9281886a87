#include "kernel/simt/memory.h"

#include <algorithm>
#include <cstring>

namespace tokamak::kernel::simt {

namespace {

constexpr uint64_t kManyBlocks = ~uint64_t{0};

uint64_t stampOf(uint32_t epoch, uint32_t thread) { return uint64_t{epoch} << 32 | thread; }
uint32_t epochOf(uint64_t stamp) { return static_cast<uint32_t>(stamp >> 32); }
uint32_t threadOf(uint64_t stamp) { return static_cast<uint32_t>(stamp); }

/// How an element of each type becomes a lane and back.
template <class T>
struct Integers {
  static Lane get(const std::byte* data, int64_t i) {
    T value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return {.i = static_cast<int64_t>(value)};
  }
  static void set(std::byte* data, int64_t i, Lane lane) {
    const auto value = static_cast<T>(lane.i);
    std::memcpy(data + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
};
struct Booleans {
  static Lane get(const std::byte* data, int64_t i) { return {.i = data[i] != std::byte{0}}; }
  static void set(std::byte* data, int64_t i, Lane lane) { data[i] = static_cast<std::byte>(lane.i != 0); }
};
template <class T>
struct Floats {
  static Lane get(const std::byte* data, int64_t i) {
    T value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    Lane lane;
    lane.d = value;
    return lane;
  }
  static void set(std::byte* data, int64_t i, Lane lane) {
    const auto value = static_cast<T>(lane.d);
    std::memcpy(data + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
};
template <float (*widen)(uint16_t), uint16_t (*narrow)(float)>
struct Halves {
  static Lane get(const std::byte* data, int64_t i) {
    uint16_t bits;
    std::memcpy(&bits, data + i * 2, 2);
    Lane lane;
    lane.d = widen(bits);
    return lane;
  }
  static void set(std::byte* data, int64_t i, Lane lane) {
    const uint16_t bits = narrow(static_cast<float>(lane.d));  // a half already, so exact
    std::memcpy(data + i * 2, &bits, 2);
  }
};

/// Calls `f` with the element type of `dtype`.
template <class F>
auto dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean: return f(Booleans{});
    case DType::u8: return f(Integers<uint8_t>{});
    case DType::i8: return f(Integers<int8_t>{});
    case DType::i16: return f(Integers<int16_t>{});
    case DType::i32: return f(Integers<int32_t>{});
    case DType::i64: return f(Integers<int64_t>{});
    case DType::f16: return f(Halves<halfToFloat, floatToHalf>{});
    case DType::bf16: return f(Halves<bfloatToFloat, floatToBfloat>{});
    case DType::f32: return f(Floats<float>{});
    case DType::f64: break;
  }
  return f(Floats<double>{});
}

int64_t indexOf(const Lane* index, int lane, bool gather) {
  if (gather) return index[lane].i;
  return static_cast<int64_t>(static_cast<uint64_t>(index->i) + static_cast<uint64_t>(lane));
}

}  // namespace

Memory::Memory(DType dtype, int64_t size, std::byte* data, bool defined)
    : dtype_(dtype),
      defined_(defined),
      size_(size),
      data_(data),
      wrote_(static_cast<size_t>(size)),
      read_(static_cast<size_t>(size)) {}

Memory Memory::shared(DType dtype, int64_t size, Scope scope) {
  Memory memory(dtype, size, nullptr, false);
  memory.kind_ = scope;
  memory.own_.resize(static_cast<size_t>(size * byteWidth(dtype)));
  memory.data_ = memory.own_.data();
  return memory;
}

Memory Memory::local(DType dtype, int64_t size) {
  Memory memory(dtype, 0, nullptr, false);
  memory.kind_ = Scope::local;
  memory.size_ = size;
  memory.own_.resize(static_cast<size_t>(size * byteWidth(dtype)));
  memory.data_ = memory.own_.data();
  memory.filled_.resize(static_cast<size_t>(size));
  return memory;
}

bool Memory::sameBlock(uint64_t stamp, Clock now, uint32_t thread) {
  if (epochOf(stamp) < now.blockStart) return false;
  if (now.blockThreads == 0 || epochOf(stamp) == now.epoch) return true;  // blocks of a cluster never share an epoch
  return threadOf(stamp) != Fault::kMany && threadOf(stamp) / now.blockThreads == thread / now.blockThreads;
}

/// Whether what another thread did under `stamp` (it `wrote`, or read) is unordered with what `thread` does now.
std::optional<Fault> Memory::conflict(int64_t i, uint64_t stamp, bool wrote, bool writes, Clock now,
                                      uint32_t thread) const {
  if (stamp == 0) return std::nullopt;
  if (kind_ == Scope::inbox) {  // what this cluster wrote is there when all of it is, and stays
    if (epochOf(stamp) < now.blockStart || (epochOf(stamp) < now.inboxMet && !writes)) return std::nullopt;
    return Fault{Fault::Kind::race, i, threadOf(stamp), false, wrote};
  }
  if (kind_ == Scope::cluster) {
    if (epochOf(stamp) < now.clusterMet || threadOf(stamp) == thread) return std::nullopt;
    return Fault{Fault::Kind::race, i, threadOf(stamp), false, wrote};
  }
  const bool otherBlock = stamp == kManyBlocks || (kind_ == Scope::global && !sameBlock(stamp, now, thread));
  if (!otherBlock && (epochOf(stamp) != now.epoch || threadOf(stamp) == thread)) return std::nullopt;
  return Fault{Fault::Kind::race, i, threadOf(stamp), otherBlock, wrote};
}

std::optional<Fault> Memory::onRead(int64_t i, Clock now, uint32_t thread) {
  const auto at = static_cast<size_t>(i);
  if (kind_ == Scope::local)
    return filled_[at] == generation_ ? std::nullopt : std::optional(Fault{Fault::Kind::unwritten, i});
  const uint64_t wrote = wrote_[at], own = stampOf(now.epoch, thread);
  const bool written = wrote != 0 && (kind_ == Scope::global || epochOf(wrote) >= now.blockStart);
  const bool elsewhere = kind_ == Scope::inbox && thread >= now.blockThreads;
  if ((!written && !defined_) || elsewhere) return Fault{Fault::Kind::unwritten, i};
  if (written && (wrote != own || kind_ == Scope::inbox))
    if (auto fault = conflict(i, wrote, true, false, now, thread)) return fault;
  uint64_t& read = read_[at];
  if (read == own || read == kManyBlocks) return std::nullopt;
  const bool otherBlock = read != 0 && kind_ == Scope::global && !sameBlock(read, now, thread);
  if (otherBlock)
    read = kManyBlocks;
  else if (!otherBlock && read != 0 && epochOf(read) == now.epoch)
    read = stampOf(now.epoch, Fault::kMany);
  else
    read = own;
  return std::nullopt;
}

std::optional<Fault> Memory::onWrite(int64_t i, Clock now, uint32_t thread) {
  const auto at = static_cast<size_t>(i);
  if (kind_ == Scope::local) return filled_[at] = generation_, std::nullopt;
  if (auto fault = conflict(i, wrote_[at], true, true, now, thread)) return fault;
  if (auto fault = conflict(i, read_[at], false, true, now, thread)) return fault;
  wrote_[at] = stampOf(now.epoch, thread);
  return std::nullopt;
}

std::optional<int64_t> Memory::missing(Clock now) const {
  const auto at = std::find_if(wrote_.begin(), wrote_.end(), [&](uint64_t w) { return epochOf(w) < now.blockStart; });
  return at == wrote_.end() ? std::nullopt : std::optional<int64_t>(at - wrote_.begin());
}

template <class Element>
std::optional<Fault> Memory::loadAs(Lane* dst, const Lane* index, const Lane* mask, int lanes, bool gather, Clock now,
                                    uint32_t thread) {
  for (int l = 0; l < lanes; ++l) {
    if (mask && !mask[l].i) {
      dst[l].i = 0;  // also the bits of 0.0
      continue;
    }
    const int64_t i = indexOf(index, l, gather);
    if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(size_)) return Fault{Fault::Kind::bounds, i};
    if (auto fault = onRead(i, now, thread)) return fault;
    dst[l] = Element::get(data_, i);
  }
  return std::nullopt;
}

template <class Element>
std::optional<Fault> Memory::storeAs(const Lane* value, const Lane* index, const Lane* mask, int lanes, bool gather,
                                     Clock now, uint32_t thread) {
  for (int l = 0; l < lanes; ++l) {
    if (mask && !mask[l].i) continue;
    const int64_t i = indexOf(index, l, gather);
    if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(size_)) return Fault{Fault::Kind::bounds, i};
    for (int earlier = 0; gather && earlier < l; ++earlier)
      if (index[earlier].i == i && (!mask || mask[earlier].i)) return Fault{Fault::Kind::duplicate, i};
    if (auto fault = onWrite(i, now, thread)) return fault;
    Element::set(data_, i, value[l]);
  }
  return std::nullopt;
}

std::optional<Fault> Memory::load(Lane* dst, const Lane* index, const Lane* mask, int lanes, bool gather, Clock now,
                                  uint32_t thread) {
  return dispatch(dtype_, [&]<class E>(E) { return loadAs<E>(dst, index, mask, lanes, gather, now, thread); });
}

std::optional<Fault> Memory::store(const Lane* value, const Lane* index, const Lane* mask, int lanes, bool gather,
                                   Clock now, uint32_t thread) {
  return dispatch(dtype_, [&]<class E>(E) { return storeAs<E>(value, index, mask, lanes, gather, now, thread); });
}

}  // namespace tokamak::kernel::simt
