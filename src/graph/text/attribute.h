#pragma once

#include <memory>
#include <vector>

#include "graph/ops/reflect.h"
#include "graph/text/cursor.h"
#include "graph/text/nearest.h"
#include "graph/type.h"
#include "support/array.h"
#include "support/scalar.h"

namespace tokamak {

/// Reads the value of one attribute, by the type of the field it fills. Constants take dtype and shape from the
/// declared type of the result.
class AttributeReader {
 public:
  AttributeReader(Cursor& cursor, std::string_view attribute, const TensorType& declared)
      : cursor_(cursor), attribute_(attribute), declared_(declared) {}

  Result<> read(bool& out);
  Result<> read(int64_t& out);
  Result<> read(double& out);
  Result<> read(Scalar& out);
  Result<> read(std::shared_ptr<const Array>& out);
  Result<> read(std::vector<Dim>& out);

  template <NamedEnum E>
  Result<> read(E& out) {
    const Token& token = cursor_.next();
    if (auto value = token.kind == TokenKind::word ? fromName<E>(token.text) : std::nullopt) {
      out = *value;
      return Unit{};
    }
    return wrong(token, fmt::format("use {}", orList({EnumNames<E>::names.begin(), EnumNames<E>::names.end()})));
  }

  template <class T>
  Result<> read(std::vector<T>& out) {
    const Token& open = cursor_.peek();
    if (!cursor_.take('[')) return wrong(open, "write a list such as [1, 2]");
    out.clear();
    if (cursor_.take(']')) return Unit{};
    do {
      T value{};
      TK_RETURN_IF_ERROR(read(value));
      out.push_back(value);
    } while (cursor_.take(','));
    return cursor_.expect(']', "separate values by ',' and close the list with ']'");
  }

 private:
  Diagnostic wrong(const Token& token, std::string hint) const {
    return cursor_.fail("T0108", token, fmt::format("{} cannot be {}", attribute_, cursor_.describe(token)),
                        std::move(hint));
  }
  Result<> readList(Array& array);
  Result<> readElement(Array& array, int64_t i);
  Result<> readBytes(Array& array, const Token& token);
  Result<int64_t> elementCount(const Token& at) const;

  Cursor& cursor_;
  std::string_view attribute_;
  const TensorType& declared_;
};

}  // namespace tokamak
