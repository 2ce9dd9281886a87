// The program that docs/guide/01-first-kernel.md walks through. CTest compiles and runs it.
#include <tokamak/tokamak.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace tokamak;

/// A bias, a GELU and a layer norm over rows of 64, for any number of rows.
Result<Graph> buildGraph() {
  Builder b("bias_gelu_norm");
  const Dim rows = Dim::symbol("M");
  ValueId x = b.input("x", DType::f32, {rows, 64});
  ValueId bias = b.input("bias", DType::f32, {64});
  ValueId weight = b.input("weight", DType::f32, {64});
  ValueId shift = b.input("shift", DType::f32, {64});
  ValueId hidden = b.gelu(b.add(x, bias));
  b.output(b.layerNorm(hidden, weight, shift));
  return b.finish();
}

/// Some numbers to compute with.
Array numbers(std::vector<int64_t> shape, float step) {
  Array out(DType::f32, std::move(shape));
  for (int64_t i = 0; i < out.size(); ++i) out.as<float>()[i] = std::sin(step * static_cast<float>(i));
  return out;
}

/// The largest difference between the compiled program and the reference evaluator.
Result<double> compare(const Graph& graph, const Executable& executable, int64_t rows) {
  const std::vector<Array> arrays = {numbers({rows, 64}, 0.1f), numbers({64}, 0.2f), numbers({64}, 0.3f),
                                     numbers({64}, 0.4f)};
  std::vector<TensorRef> inputs;
  for (const Array& array : arrays) inputs.push_back(refTo(array));
  TK_TRY(const std::vector<Tensor> outputs, executable.run(inputs));
  TK_TRY(const std::vector<Array> expected, evaluate(graph, arrays));
  double worst = 0;
  for (int64_t i = 0; i < expected[0].size(); ++i)
    worst = std::fmax(worst, std::fabs(outputs[0].as<float>()[i] - expected[0].as<float>()[i]));
  return worst;
}

Result<int> tutorial() {
  TK_TRY(const Graph graph, buildGraph());
  std::printf("%s\n", print(graph).c_str());

  const Engine engine;
  TK_TRY(const Compiled compiled, compile(graph, engine));
  std::printf("%s\n", explainTable(compiled.explanation).c_str());

  for (int64_t rows : {1, 1000, 0}) {
    TK_TRY(const double worst, compare(graph, *compiled.executable, rows));
    std::printf("%lld rows: largest difference from the reference %.1e\n", static_cast<long long>(rows), worst);
    if (!(worst < 1e-5)) return 1;
  }
  return 0;
}

int main() {
  const Result<int> status = tutorial();
  if (!status) std::fprintf(stderr, "%s\n", status.error().str().c_str());
  return status ? *status : 2;
}
