#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "driver/three_ways.h"
#include "fuzz/compare.h"
#include "fuzz/random_graph.h"
#include "graph/interp/evaluate.h"

/// Inputs with any strides that may share memory, and outputs that are inputs, constants or each other.
namespace tokamak {
namespace {

const Engine& engine() {
  static const Engine instance({.diskCache = false});
  return instance;
}

/// A part of a base array, described by strides.
struct View {
  const Array* base = nullptr;
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;

  runtime::TensorRef ref() const {
    auto* data = static_cast<std::byte*>(const_cast<void*>(base->data())) + offset * byteWidth(base->dtype());
    return {data, base->dtype(), static_cast<int>(shape.size()), shape.data(), strides.data()};
  }
  Array dense() const {
    Array out(base->dtype(), shape);
    std::vector<int64_t> at(shape.size(), 0);
    const int64_t width = byteWidth(base->dtype());
    for (int64_t i = 0; i < out.size(); ++i) {
      int64_t from = offset;
      for (size_t a = 0; a < at.size(); ++a) from += at[a] * strides[a];
      std::memcpy(static_cast<std::byte*>(out.data()) + i * width,
                  static_cast<const std::byte*>(base->data()) + from * width, width);
      for (size_t a = at.size(); a-- > 0;) {
        if (++at[a] < shape[a]) break;
        at[a] = 0;
      }
    }
    return out;
  }
};

Array numbers(DType dtype, int64_t count) {
  Array out(dtype, {count});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = i * 7 % 23 - (dtype == DType::u8 ? 0 : 11);
    isFloat(dtype) ? out.setDouble(i, static_cast<double>(v) / 4) : out.setInt(i, dtype == DType::boolean ? v & 1 : v);
  }
  return out;
}

/// [4, 6] out of 200 elements: dense, shifted, permuted, spaced, repeated along either axis or both, reversed,
/// reversed and spaced, with rows that overlap.
std::vector<View> views(const Array& base) {
  const std::vector<int64_t> shape{4, 6};
  return {{&base, shape, {6, 1}, 0},    {&base, shape, {6, 1}, 3},     {&base, shape, {1, 4}, 1},
          {&base, shape, {20, 3}, 5},   {&base, shape, {0, 1}, 2},     {&base, shape, {1, 0}, 2},
          {&base, shape, {0, 0}, 9},    {&base, shape, {-6, -1}, 150}, {&base, shape, {6, -1}, 40},
          {&base, shape, {-20, 3}, 90}, {&base, shape, {1, 1}, 7},     {&base, shape, {-1, 2}, 30}};
}

Graph pairwise(DType dtype) {
  const bool real = isFloat(dtype);
  const std::string t(nameOf(dtype));
  return *parseGraph(fmt::format(R"(graph @g(%x: {0}[M, 6], %y: {0}[M, 6]) {{
      %0 = max %x, %y : {0}[M, 6]
      %1 = transpose %x {{perm = [1, 0]}} : {0}[6, M]
      %2 = reduce %y {{kind = {1}, axes = [0]}} : {2}[6]
      %3 = eq %x, %y : bool[M, 6]
      return %0, %1, %2, %3
    }})",
                                 t, real ? "sum" : "any", real ? t : "bool"));
}

void expectRight(const Graph& graph, const std::vector<Array>& dense, const std::vector<runtime::Tensor>& outputs,
                 const std::string& what) {
  std::vector<Array> arrays;
  arrays.reserve(outputs.size());
  for (const runtime::Tensor& tensor : outputs) arrays.push_back(runtime::copyOf(tensor));
  const auto same = fuzz::compareOutputs(graph, dense, arrays);
  EXPECT_TRUE(same) << what << ": " << same.error().str();
}

TEST(MemoryLayout, EveryPairOfViewsOfOneBuffer) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::u8, DType::boolean}) {
    const Graph graph = pairwise(dtype);
    const auto compiled = compile(graph, engine());
    ASSERT_TRUE(compiled) << compiled.error().str();
    const Array base = numbers(dtype, 200), before = numbers(dtype, 200);
    for (const View& x : views(base))
      for (const View& y : views(base)) {
        const std::vector<runtime::TensorRef> refs{x.ref(), y.ref()};
        const auto outputs = compiled->executable->run(refs);
        ASSERT_TRUE(outputs) << outputs.error().str();
        expectRight(graph, {x.dense(), y.dense()}, *outputs,
                    fmt::format("{} strides [{}] and [{}]", nameOf(dtype), fmt::join(x.strides, ", "),
                                fmt::join(y.strides, ", ")));
      }
    EXPECT_EQ(std::memcmp(base.data(), before.data(), base.bytes()), 0) << "an input was written";
  }
}

TEST(MemoryLayout, ProductsOfViews) {
  const Graph graph = *parseGraph(R"(graph @g(%x: f32[4, 6], %y: f32[4, 6]) {
      %0 = matmul %x, %y {transpose_b = true} : f32[4, 4]
      %1 = gelu %0 : f32[4, 4]
      return %1
    })");
  const auto compiled = compile(graph, engine());
  ASSERT_TRUE(compiled) << compiled.error().str();
  const Array base = numbers(DType::f32, 200);
  const View y = views(base)[2];
  for (const View& x : views(base)) {
    const std::vector<runtime::TensorRef> refs{x.ref(), y.ref()};
    const auto outputs = compiled->executable->run(refs);
    ASSERT_TRUE(outputs) << outputs.error().str();
    expectRight(graph, {x.dense(), y.dense()}, *outputs, fmt::format("[{}]", fmt::join(x.strides, ", ")));
  }
}

TEST(MemoryLayout, AddressesThatAreNotAligned) {
  const Graph graph = pairwise(DType::f32);
  const auto compiled = compile(graph, engine());
  ASSERT_TRUE(compiled) << compiled.error().str();
  const Array base = numbers(DType::f32, 24);
  const std::vector<int64_t> shape{4, 6}, strides{6, 1};
  std::vector<std::byte> bytes(base.bytes() + 8);
  for (int64_t shift = 0; shift < 8; ++shift) {
    std::memcpy(bytes.data() + shift, base.data(), base.bytes());
    const runtime::TensorRef ref{bytes.data() + shift, DType::f32, 2, shape.data(), nullptr};
    const std::vector<runtime::TensorRef> refs{ref, ref};
    const auto outputs = compiled->executable->run(refs);
    ASSERT_TRUE(outputs) << outputs.error().str();
    const Array dense = View{&base, shape, strides, 0}.dense();
    expectRight(graph, {dense, dense}, *outputs, fmt::format("shift {}", shift));
  }
}

/// Results written over the inputs, exactly and in part.
TEST(MemoryLayout, OutputsOverInputs) {
  const Graph graph = *parseGraph(R"(graph @g(%x: f32[4, 6], %y: f32[4, 6]) {
      %0 = transpose %x {perm = [1, 0]} : f32[6, 4]
      %1 = add %x, %y : f32[4, 6]
      return %0, %1
    })");
  const auto compiled = compile(graph, engine());
  ASSERT_TRUE(compiled) << compiled.error().str();
  const std::vector<int64_t> tall{6, 4}, wide{4, 6};
  for (const int64_t first : {0, 5, 24, 30, 60})
    for (const int64_t second : {0, 5, 24, 30, 60}) {
      if (std::abs(first - second) < 24) continue;  // outputs over each other have no one answer
      Array buffer = numbers(DType::f32, 100);
      const View x{&buffer, wide, {6, 1}, 0}, y{&buffer, wide, {6, 1}, 24};
      const std::vector<Array> dense{x.dense(), y.dense()};
      auto* data = static_cast<float*>(buffer.data());
      const std::vector<runtime::TensorRef> inputs{x.ref(), y.ref()};
      const std::vector<runtime::TensorRef> outputs{{data + first, DType::f32, 2, tall.data(), nullptr},
                                                    {data + second, DType::f32, 2, wide.data(), nullptr}};
      const auto done = compiled->executable->run(inputs, outputs);
      ASSERT_TRUE(done) << done.error().str();
      const std::vector<Array> got{View{&buffer, tall, {4, 1}, first}.dense(),
                                   View{&buffer, wide, {6, 1}, second}.dense()};
      const auto same = fuzz::compareOutputs(graph, dense, got);
      EXPECT_TRUE(same) << first << " " << second << ": " << same.error().str();
    }
}

/// Outputs that are inputs, views of inputs, constants, and each other: all three ways.
TEST(MemoryLayout, OutputsThatComputeNothing) {
  for (const char* text : {
           "graph @g(%x: f32[M, 6]) {\n return %x\n}",
           "graph @g(%x: f32[M, 6]) {\n return %x, %x, %x\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = reshape %x : f32[6*M]\n return %0, %x, %0\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = transpose %x {perm = [1, 0]} : f32[6, M]\n return %0, %x, %0\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = transpose %x {perm = [1, 0]} : f32[6, M]\n"
           " %1 = transpose %0 {perm = [1, 0]} : f32[M, 6]\n return %1, %0\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = constant {data = [1.0, 2.0]} : f32[2]\n return %0, %x, %0\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]\n"
           " %1 = reshape %0 : f32[4]\n return %1, %0\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = full {value = 2.5} : f32[M]\n %1 = full {value = 2.5} : f32[]\n"
           " return %0, %1, %0\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = exp %x : f32[M, 6]\n %1 = reshape %0 : f32[6*M]\n"
           " %2 = exp %x : f32[M, 6]\n return %0, %1, %0, %2\n}",
           "graph @g(%x: f32[M, 6]) {\n %0 = exp %x : f32[M, 6]\n %1 = reshape %0 : f32[6*M]\n"
           " %2 = neg %1 : f32[6*M]\n return %1, %2\n}",
           "graph @g(%x: f32[M, 6], %y: f32[M, 6]) {\n %0 = broadcast %x {axes = [1, 2]} : f32[1, M, 6]\n"
           " return %y, %0, %x\n}",
           "graph @g() {\n %0 = full {value = 1} : i64[]\n return %0\n}",
       }) {
    const auto graph = parseGraph(text);
    ASSERT_TRUE(graph) << graph.error().str() << "\n" << text;
    for (const int64_t m : {0, 1, 4}) {
      std::vector<Array> inputs;
      for (size_t i = 0; i < graph->inputs().size(); ++i) {
        const Array data = numbers(DType::f32, m * 6 + static_cast<int64_t>(i));
        inputs.push_back(View{&data, {m, 6}, {6, 1}, static_cast<int64_t>(i)}.dense());
      }
      for (const bool interpret : {false, true}) {
        const auto outputs = interpret ? runSimtGraph(*graph, inputs, engine()) : runCompiled(*graph, inputs, engine());
        ASSERT_TRUE(outputs) << outputs.error().str() << "\n" << text;
        const auto same = fuzz::compareOutputs(*graph, inputs, *outputs);
        EXPECT_TRUE(same) << (interpret ? "SIMT: " : "compiled: ") << same.error().str() << "\n" << text;
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
