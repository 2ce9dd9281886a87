// The example of README.md, as a program.
#include <tokamak/tokamak.h>

#include <cstdio>

using namespace tokamak;

int main() {
  Builder b("gelu_bias");
  ValueId x = b.input("x", DType::f32, {Dim::symbol("M"), 64});
  ValueId bias = b.input("bias", DType::f32, {64});
  b.output(b.gelu(b.add(x, bias)));

  Engine engine;                                            // memory, threads, kernel cache
  Compiled program = compile(*b.finish(), engine).value();  // one compilation for every M
  Array rows(DType::f32, {1000, 64}), biases(DType::f32, {64});
  const TensorRef inputs[] = {refTo(rows), refTo(biases)};
  std::vector<Tensor> outputs = program.executable->run(inputs).value();

  std::printf("%lld elements\n", static_cast<long long>(outputs[0].size()));
  return outputs[0].size() == 64000 ? 0 : 1;
}
