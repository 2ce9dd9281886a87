#include <tokamak/tokamak.h>

#include <cstdio>

int main() {
  using namespace tokamak;
  Builder b("twice");
  ValueId x = b.input("x", DType::f32, {Dim::symbol("N")});
  b.output(b.add(x, x));
  Result<Graph> graph = b.finish();
  const Engine engine({.diskCache = false});
  Result<Compiled> compiled = compile(*graph, engine);
  if (!compiled) return std::puts(compiled.error().str().c_str()), 1;
  Array in(DType::f32, {3});
  in.setDouble(2, 21);
  const TensorRef inputs[] = {refTo(in)};
  Result<std::vector<Tensor>> out = compiled->executable->run(inputs);
  if (!out) return std::puts(out.error().str().c_str()), 1;
  std::printf("%g\n", (*out)[0].as<float>()[2]);
  return (*out)[0].as<float>()[2] == 42 ? 0 : 1;
}
