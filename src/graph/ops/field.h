#pragma once

#include <string_view>

namespace tokamak {

/// Names a member of an op. An op's `fields()` drive its printer, parser, hash and equality. Member types:
/// bool, int64_t, double, Scalar, a named enum, std::vector<int64_t>, std::vector<double>, std::vector<Dim>,
/// std::shared_ptr<const Array>. A field that holds its default value is not printed unless it is `shown`.
template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::* member;
  bool always = false;
};
template <class S, class M>
Field(const char*, M S::*) -> Field<S, M>;

/// A field that says so much of what the op does that it is printed even at its default.
template <class S, class M>
constexpr Field<S, M> shown(const char* name, M S::* member) {
  return {name, member, true};
}

}  // namespace tokamak
