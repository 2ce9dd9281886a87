#pragma once

#include <string_view>

namespace tokamak {

/// Names a member of an op. An op's `fields()` drive its printer, parser, hash and equality. Member types:
/// bool, int64_t, double, Scalar, a named enum, std::vector<int64_t>, std::vector<Dim>, std::shared_ptr<const Array>.
/// A field that holds its default value is not printed.
template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
};
template <class S, class M>
Field(const char*, M S::*) -> Field<S, M>;

}  // namespace tokamak
