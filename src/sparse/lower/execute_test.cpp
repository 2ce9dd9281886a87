#include "sparse/lower/execute.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

namespace tokamak::sparse {

namespace {

Tensor randomTensor(const std::vector<int64_t>& shape, double density, std::mt19937& random) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  std::vector<double> values(static_cast<size_t>(size), 0.0);
  std::uniform_real_distribution<double> value(-2, 2), chance(0, 1);
  for (double& v : values)
    if (chance(random) < density) v = value(random);
  return fromDense(values, shape, Format::csf(static_cast<int>(shape.size())), DType::f64);
}

/// Runs a program under all its schedules, unfused too, on random inputs of several densities.
void expectDense(std::string_view text, std::vector<double> densities = {0, 0.3, 1}) {
  Result<Source> source = parseSource(text, "t.ein");
  ASSERT_TRUE(source.ok()) << source.error().str();
  source->schedules.push_back(unfused());
  source->schedules.push_back(automatic());
  source->schedules.push_back({.name = "everything", .fuse = Schedule::Fuse::all});
  std::mt19937 random(7);
  for (const double density : densities) {
    Program program = source->program;
    for (Dim& dim : program.dims())
      if (!std::isdigit(static_cast<unsigned char>(dim.name[0]))) dim.size = 1 + static_cast<int64_t>(random() % 5);
    for (const TensorDecl& decl : program.tensors())
      if (decl.format)
        for (const Level& level : decl.format->levels)
          if (level.part == LevelPart::outer)
            program.dims()[decl.dims[static_cast<size_t>(level.axis)].index].size = 2 * level.block;
    Bindings inputs;
    for (const TensorDecl& decl : program.tensors())
      if (decl.role == Role::input)
        inputs[decl.name] = randomTensor(program.shape(program.findTensor(decl.name)), density, random);
    inputs = *inDeclaredFormats(program, std::move(inputs));
    ASSERT_TRUE(bindSizes(program, inputs).ok());
    for (const Schedule& schedule : source->schedules) {
      const Result<Compiled> compiled = compile(program, schedule, &inputs);
      ASSERT_TRUE(compiled.ok()) << schedule.name << ": " << compiled.error().str();
      std::string shown;
      for (const CompiledRegion& region : compiled->regions) shown += print(region.graph);
      const Result<Execution> execution = execute(*compiled, inputs);
      ASSERT_TRUE(execution.ok()) << schedule.name << ": " << execution.error().str() << shown;
      for (const Comparison& c : compareWithDense(program, *compiled, inputs, execution->results))
        EXPECT_TRUE(c.close) << schedule.name << " at density " << density << ": " << c.tensor << " differs by "
                             << c.worst << "\n"
                             << shown;
    }
  }
}

TEST(Execute, SpMV) {
  for (const char* format : {"csr", "dcsr", "csc", "coo", "dense"})
    expectDense(fmt::format("dim N, M\ninput A[N, M]: {}\ninput x[M]\noutput y[N]\ny[i] = A[i, j] * x[j]", format));
  expectDense("dim N, M\ninput A[N, M]: csr\ninput x[M]: csf\noutput y[N]\ny[i] = A[i, j] * x[j]");
}

std::string example(const std::string& name) {
  std::ifstream in(std::string(TOKAMAK_SOURCE_DIR) + "/examples/sparse/" + name + ".ein");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class Example : public testing::TestWithParam<const char*> {};

TEST_P(Example, EqualsItsDenseProgram) { expectDense(example(GetParam()), {0, 0.3, 1}); }

INSTANTIATE_TEST_SUITE_P(Execute, Example,
                         testing::Values("spmv", "spmm", "spmm_orders", "sddmm", "mttkrp", "ttv", "softmax",
                                         "layer_norm", "chain", "gcn", "graphsage", "autoencoder", "graph_attention",
                                         "bigbird", "block_attention"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Execute, SpMM) {
  for (const char* a : {"csr", "dcsr", "csc"})
    for (const char* b : {"csr", "csc", "dense"})
      expectDense(
          fmt::format("dim N, M, K\ninput A[N, K]: {}\ninput B[K, M]: {}\noutput Y[N, M]: csr\n"
                      "Y[i, j] = A[i, k] * B[k, j]",
                      a, b));
}

}  // namespace

}  // namespace tokamak::sparse
