#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tokamak {

/// Specialise with `static constexpr std::array<std::string_view, N> names` in the order of the enumerators (which
/// start at 0); printer, parser and hash follow.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires { EnumNames<E>::names.size(); };

template <NamedEnum E>
constexpr std::string_view nameOf(E e) {
  return EnumNames<E>::names[static_cast<size_t>(e)];
}

template <NamedEnum E>
constexpr std::optional<E> fromName(std::string_view name) {
  for (size_t i = 0; i < EnumNames<E>::names.size(); ++i)
    if (EnumNames<E>::names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace tokamak
