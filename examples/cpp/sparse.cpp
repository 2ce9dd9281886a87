// A sparse program from C++: parse, compile, run, compare with its dense form.
#include <cstdio>

#include "sparse/lower/execute.h"

using namespace tokamak;
using namespace tokamak::sparse;

namespace {

constexpr const char* kText = R"(
  dim N, M
  input A[N, M]: csr
  input x[M]
  output y[N]
  y[i] = relu(A[i, j] * x[j] + 1)     // the 1 reaches rows without entries too
)";

Result<> run() {
  Entries entries{{3, 4}, {}, {}};
  entries.add({0, 1}, 2);
  entries.add({2, 0}, -3);
  entries.add({2, 3}, 4);
  TK_TRY(Tensor matrix, pack(entries, *namedFormat("csr", 2)));
  Tensor vector = fromDense({1, 2, 3, 4}, {4}, Format::dense(1));

  TK_TRY(Source source, parseSource(kText, "spmv.ein"));
  TK_TRY(Bindings inputs, inDeclaredFormats(source.program, {{"A", std::move(matrix)}, {"x", std::move(vector)}}));
  TK_RETURN_IF_ERROR(bindSizes(source.program, inputs));
  TK_TRY(const Compiled compiled, compile(source.program, automatic(), &inputs));
  TK_TRY(const Execution execution, execute(compiled, inputs));

  for (const double value : toDense(execution.results.at("y"))) std::printf("%g ", value);
  std::printf("\n");
  for (const Comparison& c : compareWithDense(source.program, compiled, inputs, execution.results))
    if (!c.close) return Diagnostic{"T0000", {}, c.tensor + " differs from the dense program", ""};
  return Unit{};
}

}  // namespace

int main() {
  const Result<> done = run();
  if (!done) std::printf("%s\n", done.error().str().c_str());
  return done ? 0 : 1;
}
