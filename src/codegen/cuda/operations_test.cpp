#include "codegen/cuda/testing.h"
#include "kernel/writer.h"

/// Every scalar operation on every dtype, in scalars and in lanes, compiles.
namespace tokamak::codegen::cuda {
namespace {

using namespace kernel;

constexpr int64_t kCount = 1024;
constexpr DType kAllTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                               DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

template <class Kind, size_t... I>
std::vector<Kind> allOf(std::index_sequence<I...>) {
  return {static_cast<Kind>(I)...};
}

/// A thread an element, or a vector of them; `write` gets the buffer index.
Kernel overThreads(Writer& w, int lanes, const std::function<void(ExprId)>& write) {
  w.loop("b", w.i64(0), w.i64(kCount / lanes / 64), 1, Binding::block_x, [&](ExprId b) {
    w.loop("t", w.i64(0), w.i64(64), 1, Binding::thread_x,
           [&](ExprId t) { write(w.mul(w.add(w.mul(b, w.i64(64)), t), w.i64(lanes))); });
  });
  return std::move(w).finish();
}

Kernel everyOperation(DType t, int lanes) {
  Writer w("every");
  const BufferId a = w.global("a", t, kCount, Access::in), b = w.global("b", t, kCount, Access::in);
  const auto unary = allOf<UnaryKind>(std::make_index_sequence<EnumNames<UnaryKind>::names.size()>());
  const auto binary = allOf<BinaryKind>(std::make_index_sequence<EnumNames<BinaryKind>::names.size()>());
  std::map<std::string, BufferId> outputs;
  for (UnaryKind k : unary)
    if (isDefined(k, t)) outputs[std::string(nameOf(k))] = w.global("y", resultType(k, t), kCount, Access::out);
  for (BinaryKind k : binary)
    if (isDefined(k, t)) outputs[std::string(nameOf(k))] = w.global("y", resultType(k, t), kCount, Access::out);
  return overThreads(w, lanes, [&](ExprId at) {
    const ExprId x = w.let("x", w.load(a, at, lanes)), y = w.let("y", w.load(b, at, lanes));
    for (UnaryKind k : unary)
      if (isDefined(k, t)) w.store(outputs[std::string(nameOf(k))], at, w.unary(k, x));
    for (BinaryKind k : binary)
      if (isDefined(k, t)) w.store(outputs[std::string(nameOf(k))], at, w.binary(k, x, y));
  });
}

Kernel everyConversion(DType from, int lanes) {
  Writer w("convert");
  const BufferId a = w.global("a", from, kCount, Access::in);
  std::vector<BufferId> outputs;
  for (DType to : kAllTypes) outputs.push_back(w.global("y", to, kCount, Access::out));
  return overThreads(w, lanes, [&](ExprId at) {
    const ExprId x = w.let("x", w.load(a, at, lanes));
    for (DType to : kAllTypes) w.store(outputs[static_cast<int>(to)], at, w.convert(x, to));
  });
}

TEST(Operations, CompileOnEveryType) {
  TK_NEEDS_NVRTC(nvrtc);
  for (DType t : kAllTypes)
    for (int lanes : {1, 2})
      if (!isHalf(t))
        testing::expectCompiles(*nvrtc, everyOperation(t, lanes), {.narrow = lanes > 1},
                                {lanes == 1 ? "sm_80" : "sm_90a"});
}

TEST(Operations, ConversionsCompile) {
  TK_NEEDS_NVRTC(nvrtc);
  for (DType t : kAllTypes)
    for (int lanes : {1, 4}) testing::expectCompiles(*nvrtc, everyConversion(t, lanes), {.narrow = lanes > 1});
}

}  // namespace
}  // namespace tokamak::codegen::cuda
