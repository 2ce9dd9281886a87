#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "support/dim.h"
#include "support/result.h"

namespace tokamak::runtime {

/// Extents compiled once into a flat list of instructions over registers, so that binding new symbol values walks no
/// expression tree. Register i holds symbol i; equal subexpressions share one.
///
///   ShapeProgram shapes({"M", "N"});
///   TK_TRY(int r, shapes.add(Dim::symbol("M") * 4));
///   registers[0] = 32, registers[1] = 8; shapes.eval(registers); registers[r] == 128
class ShapeProgram {
 public:
  explicit ShapeProgram(std::vector<std::string> symbols = {});

  /// The register that will hold `dim`. Fails with T0603 on a symbol that is not one of the program's.
  Result<int> add(const Dim& dim);
  int registerCount() const { return static_cast<int>(registers_); }
  /// Fills the other registers from those of the symbols. Fails with T0602 on overflow or a division by zero.
  Result<> eval(std::span<int64_t> registers) const;

 private:
  enum class Opcode : uint8_t { constant, add, mul, floordiv, mod, max, min };
  struct Instruction {
    Opcode opcode;
    int to, a, b;
    int64_t value;
  };
  Result<int> addAtom(const Dim::Atom& atom);
  int emit(Opcode opcode, int a, int b, int64_t value = 0);
  std::string describe(int to) const;

  std::vector<std::string> symbols_;
  std::vector<Instruction> code_;
  std::map<std::string, int> known_;  // by text
  int registers_ = 0;
};

}  // namespace tokamak::runtime
