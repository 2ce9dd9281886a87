#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "support/check.h"

namespace tokamak {

/// A place in a text: 1-based line and column; zero when the value did not come from text.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Location&) const = default;
};

/// What went wrong through the user's doing: a stable code (`T0207`, with a page in docs/errors), the place, what is
/// the matter, and what to do about it.
struct Diagnostic {
  std::string code;
  Location location;
  std::string message;
  std::string hint;

  /// `file.tk:3:12: error T0207: message` and, on a second line, `  hint: ...`.
  std::string str() const;
};

struct Unit {
  bool operator==(const Unit&) const = default;
};

/// A value or the Diagnostic that says why there is none.
template <class T = Unit>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    if (!ok()) failUnhandled(error().str());
    return std::get<0>(state_);
  }
  const T& value() const& {
    if (!ok()) failUnhandled(error().str());
    return std::get<0>(state_);
  }
  T&& value() && {
    if (!ok()) failUnhandled(error().str());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Diagnostic& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Diagnostic> state_;
};

}  // namespace tokamak

#define TK_CONCAT_(a, b) a##b
#define TK_CONCAT(a, b) TK_CONCAT_(a, b)

/// `TK_TRY(auto x, mayFail());` declares x or returns the Diagnostic from the enclosing function.
#define TK_TRY(declaration, expression)                                         \
  auto TK_CONCAT(tkTry_, __LINE__) = (expression);                              \
  if (!TK_CONCAT(tkTry_, __LINE__)) return TK_CONCAT(tkTry_, __LINE__).error(); \
  declaration = std::move(*TK_CONCAT(tkTry_, __LINE__))

/// Returns the Diagnostic of `expression`, if it has one, from the enclosing function.
#define TK_RETURN_IF_ERROR(expression)                                    \
  do {                                                                    \
    if (auto tkStatus = (expression); !tkStatus) return tkStatus.error(); \
  } while (false)
