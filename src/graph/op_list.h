#pragma once

#include <type_traits>
#include <utility>

#include "graph/op.h"
#include "graph/ops/reflect.h"

namespace tokamak {

/// Calls visit(op) with a default op for every mnemonic that a statement can have: all but Input.
template <class Visit>
void forEachOp(Visit&& visit) {
  const auto one = [&]<class T>(T op) {
    if constexpr (std::is_same_v<T, Input>) {
      return;
    } else if constexpr (NamedByKind<T>) {
      for (size_t k = 0; k < EnumNames<decltype(op.kind)>::names.size(); ++k) {
        op.kind = static_cast<decltype(op.kind)>(k);
        visit(op);
      }
    } else {
      visit(op);
    }
  };
  [&]<size_t... I>(std::index_sequence<I...>) {
    (one(std::variant_alternative_t<I, Op>{}), ...);
  }(std::make_index_sequence<std::variant_size_v<Op>>{});
}

}  // namespace tokamak
