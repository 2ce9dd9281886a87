// Softmax on a GPU, checked against the reference evaluator. Without a GPU it says what is missing.
#include <tokamak/tokamak.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

int main() {
  tokamak::Builder b("softmax");
  const auto input = b.input("x", tokamak::DType::f32, {tokamak::Dim::symbol("M"), 1000});
  b.output(b.softmax(input, 1));
  const tokamak::Graph graph = b.finish().value();

  const tokamak::Engine engine;
  auto program = tokamak::compileCuda(graph, engine, /*device=*/0);
  if (!program) {
    std::printf("%s\n", program.error().str().c_str());
    return program.error().code == "T0610" ? 0 : 1;
  }
  tokamak::Array x(tokamak::DType::f32, {32, 1000});
  for (int64_t i = 0; i < x.size(); ++i) x.as<float>()[i] = static_cast<float>(i % 17);
  auto outputs = tokamak::runOnDevice(*program, {x});
  if (!outputs) {
    std::printf("%s\n", outputs.error().str().c_str());
    return 1;
  }
  const auto want = tokamak::evaluate(graph, {x}).value();
  double worst = 0;
  for (int64_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs((*outputs)[0].getDouble(i) - want[0].getDouble(i)));
  std::printf("largest difference from the reference: %.2g\n", worst);
  return worst < 1e-6 ? 0 : 1;
}
