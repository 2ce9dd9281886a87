#include "runtime/shape_program.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak::runtime {

ShapeProgram::ShapeProgram(std::vector<std::string> symbols) : symbols_(std::move(symbols)) {
  for (const auto& name : symbols_) known_[name] = registers_++;
}

int ShapeProgram::emit(Opcode opcode, int a, int b, int64_t value) {
  for (const Instruction& i : code_)
    if (i.opcode == opcode && i.a == a && i.b == b && i.value == value) return i.to;
  code_.push_back({opcode, registers_, a, b, value});
  return registers_++;
}

Result<int> ShapeProgram::addAtom(const Dim::Atom& atom) {
  if (atom.kind == Dim::AtomKind::symbol) {
    const auto it = std::find(symbols_.begin(), symbols_.end(), atom.name);
    if (it == symbols_.end())
      return Diagnostic{
          "T0603", {}, fmt::format("the program has no symbol {}", atom.name), "list it in Program::symbols"};
    return static_cast<int>(it - symbols_.begin());
  }
  TK_TRY(const int a, add(atom.a));
  TK_TRY(const int b, add(atom.b));
  switch (atom.kind) {
    case Dim::AtomKind::floordiv: return emit(Opcode::floordiv, a, b);
    case Dim::AtomKind::mod: return emit(Opcode::mod, a, b);
    case Dim::AtomKind::max: return emit(Opcode::max, a, b);
    default: return emit(Opcode::min, a, b);
  }
}

Result<int> ShapeProgram::add(const Dim& dim) {
  if (auto value = dim.constant()) return emit(Opcode::constant, -1, -1, *value);
  const std::string text = dim.str();
  if (auto it = known_.find(text); it != known_.end()) return it->second;
  int sum = -1;
  for (const Dim::Term& term : dim.terms()) {
    int product = -1;
    if (term.coefficient != 1 || term.factors.empty()) product = emit(Opcode::constant, -1, -1, term.coefficient);
    for (const Dim::Atom& factor : term.factors) {
      TK_TRY(const int value, addAtom(factor));
      product = product < 0 ? value : emit(Opcode::mul, product, value);
    }
    sum = sum < 0 ? product : emit(Opcode::add, sum, product);
  }
  known_[text] = sum;
  return sum;
}

std::string ShapeProgram::describe(int to) const {
  for (const auto& [text, index] : known_)
    if (index == to) return text;
  return "part of an extent";
}

Result<> ShapeProgram::eval(std::span<int64_t> registers) const {
  TK_CHECK(registers.size() >= static_cast<size_t>(registers_), "too few registers for the shape program");
  for (const Instruction& i : code_) {
    int64_t& to = registers[i.to];
    if (i.opcode == Opcode::constant) {
      to = i.value;
      continue;
    }
    const int64_t a = registers[i.a], b = registers[i.b];
    bool bad = false;
    switch (i.opcode) {
      case Opcode::add: bad = __builtin_add_overflow(a, b, &to); break;
      case Opcode::mul: bad = __builtin_mul_overflow(a, b, &to); break;
      case Opcode::max: to = std::max(a, b); break;
      case Opcode::min: to = std::min(a, b); break;
      default: {
        bad = b == 0 || (a == INT64_MIN && b == -1);
        if (bad) break;
        const int64_t quotient = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
        to = i.opcode == Opcode::floordiv ? quotient : a - quotient * b;
      }
    }
    if (bad)
      return Diagnostic{"T0602",
                        {},
                        fmt::format("{} {} for these dimensions", describe(i.to),
                                    i.opcode <= Opcode::mul ? "overflows" : "divides by zero"),
                        "use dimensions whose extents fit in 64 bits"};
  }
  return Unit{};
}

}  // namespace tokamak::runtime
