#pragma once

#include "sparse/lower/compile.h"
#include "sparse/lower/inputs.h"
#include "sparse/stream/run/data.h"

namespace tokamak::sparse {

struct Execution {
  Bindings results;     // every tensor that a region wrote, in its format
  uint64_t tokens = 0;  // that ran through streams
};

/// Tensors by name that somebody else holds.
using TensorPointers = std::map<std::string, const Tensor*, std::less<>>;
TensorPointers pointersTo(const Bindings& tensors);

/// Runs the regions one after another on real data, without timing. `inputs` are in the formats that the program
/// declares (`inDeclaredFormats`).
Result<Execution> execute(const Compiled& compiled, const Bindings& inputs);
Result<Execution> execute(const Compiled& compiled, const TensorPointers& inputs);

/// Runs a region's graph on what it reads, in whatever way, and gives what it wrote.
using RegionRunner = std::function<Result<stream::Storages>(const CompiledRegion& region, const stream::Inputs& reads)>;
/// The regions one after another, each by `run`: every tensor that one wrote, in its format.
Result<Bindings> executeWith(const Compiled& compiled, const TensorPointers& inputs, const RegionRunner& run);
inline Result<Bindings> executeWith(const Compiled& compiled, const Bindings& inputs, const RegionRunner& run) {
  return executeWith(compiled, pointersTo(inputs), run);
}

/// How far results are from the dense evaluation, relative to the largest value of each tensor (and of the inputs,
/// where that is far larger: what is left when terms cancel is rounding).
struct Comparison {
  std::string tensor;
  double worst = 0;
  bool close = true;
};
std::vector<Comparison> compareWithDense(const Program& program, const Bindings& inputs, const Bindings& results);

/// The outputs against the program as written, and everything else against the program as it was rewritten.
std::vector<Comparison> compareWithDense(const Program& written, const Compiled& compiled, const Bindings& inputs,
                                         const Bindings& results);

/// What a table reads, by the names it gives: the tensors `from` in the table's formats.
Bindings tableInputs(const Table& table, const Bindings& from);
/// One of those tensors: `from` is the program's tensor, which a range does not need.
Tensor tableInput(const TableTensor& wanted, const Tensor* from);
/// A tensor as graphs read it; it must outlive the view.
stream::TensorView viewOf(const Tensor& tensor);

}  // namespace tokamak::sparse
