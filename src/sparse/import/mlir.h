#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sparse/einsum/evaluate.h"

namespace tokamak::sparse {

/// An input that follows from sizes, such as the numbers 0, 1, 2, ... along a dimension.
struct DerivedInput {
  std::string name;
  std::function<Tensor(const std::vector<int64_t>& shape)> make;
};

/// A program that came with data of its own.
struct ImportedProgram {
  Program program;
  Bindings weights;                   // inputs whose values the text holds, or that were generated
  std::vector<DerivedInput> derived;  // inputs that can be made once sizes are known
  std::vector<std::string> notes;     // what a reader should know: weights that were generated
};

struct MlirOptions {
  std::string function;  // by name; empty: `main`, `forward`, or the only one
  uint64_t seed = 0;     // of weights that the text leaves out
};

/// Reads MLIR text in linalg, sparse_tensor, arith, math and tensor. Tensors are named as their SSA values are, results
/// that have only a number `result`; a `?` is a dimension named after the argument that has it.
///
///   #CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
///   func.func @main(%A: tensor<?x16xf32, #CSR>, %B: tensor<16x8xf32>) -> tensor<?x8xf32> { ... linalg.matmul ... }
///
/// The reader is a component of its own, opened when the first text comes: T0850 where it was not built or lies
/// elsewhere (TOKAMAK_MLIR names the file). T0851 to T0857 say what is wrong with a text, and where.
Result<ImportedProgram> readMlir(std::string_view text, const std::string& file, const MlirOptions& options = {});

/// Adds the weights and what follows from sizes to the inputs of a program that was imported. Sizes that `inputs` say
/// are taken first; T0933 where one that is needed stays unknown.
Result<> completeInputs(const ImportedProgram& imported, Program& program, Bindings& inputs);

}  // namespace tokamak::sparse
