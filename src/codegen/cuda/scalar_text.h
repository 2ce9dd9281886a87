#pragma once

#include <string>

#include "codegen/cuda/snippets.h"
#include "kernel/expr.h"

/// Scalar operations of support/scalar_op.h and graph::Cast as C++ text. Operands are text too: pure, so that they may
/// stand twice where they are `atom`s.
namespace tokamak::codegen::cuda {

/// How tightly the text binds.
enum class Level : uint8_t { choice, logic, comparison, sum, product, unary, atom };

struct Text {
  std::string text;
  Level level = Level::atom;

  /// In parentheses unless it binds at least as tightly as `wanted`.
  std::string at(Level wanted) const { return level >= wanted ? text : "(" + text + ")"; }
};

Text infix(const Text& a, std::string_view symbol, const Text& b, Level level);
Text call(const std::string& function, std::initializer_list<Text> arguments);
/// `(long long)x`.
Text castTo(std::string_view type, const Text& a);

/// What values of a type are in registers (`bool`, `float`, `tk::bf16`), and what in memory, where a bool is a byte.
std::string typeName(Snippets& snippets, DType t);
std::string memoryTypeName(Snippets& snippets, DType t);
/// The type that wrapping arithmetic is done in.
std::string_view unsignedName(DType t);

Text immediateText(DType t, const Scalar& value);
Text zeroText(Snippets& snippets, DType t);
Text unaryText(Snippets& snippets, UnaryKind kind, DType t, const Text& a);
Text binaryText(Snippets& snippets, BinaryKind kind, DType t, const Text& a, const Text& b);
Text convertText(Snippets& snippets, DType from, DType to, const Text& a);

}  // namespace tokamak::codegen::cuda
