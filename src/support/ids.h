#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tokamak {

/// An index that cannot be mixed up with another kind's: `struct ValueTag; using ValueId = Id<ValueTag>;`.
template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(size_t i) : index(static_cast<uint32_t>(i)) {}
  constexpr bool valid() const { return index != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  auto operator<=>(const Id&) const = default;
};

}  // namespace tokamak

template <class Tag>
struct std::hash<tokamak::Id<Tag>> {
  size_t operator()(tokamak::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.index); }
};
