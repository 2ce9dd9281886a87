#pragma once

#include <concepts>
#include <string_view>
#include <tuple>

#include "graph/ops/field.h"
#include "support/enum_names.h"

namespace tokamak {

/// Ops whose kind is their mnemonic (`exp`, `add`, `gelu`): Unary, Binary, Activation. All others have a fixed one.
template <class T>
concept NamedByKind = !requires { T::mnemonic; } && requires(T op) { requires NamedEnum<decltype(op.kind)>; };

template <class T>
constexpr std::string_view mnemonicOf(const T& op) {
  if constexpr (NamedByKind<T>)
    return nameOf(op.kind);
  else
    return T::mnemonic;
}

/// Calls visit(name, member) for every field of `op`, in order.
template <class T, class Visit>
void forEachField(T& op, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field.name, op.*(field.member)), ...); },
             std::remove_const_t<T>::fields());
}

}  // namespace tokamak
