#include "library/post_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tokamak::library {

float loadFloat(const void* data, DType dtype, int64_t index) {
  if (dtype == DType::f32) return static_cast<const float*>(data)[index];
  const uint16_t bits = static_cast<const uint16_t*>(data)[index];
  return dtype == DType::bf16 ? bfloatToFloat(bits) : halfToFloat(bits);
}

void storeFloat(void* data, DType dtype, int64_t index, float value) {
  if (dtype == DType::f32)
    static_cast<float*>(data)[index] = value;
  else
    static_cast<uint16_t*>(data)[index] = dtype == DType::bf16 ? floatToBfloat(value) : floatToHalf(value);
}

float applyPostOp(const PostOp& op, float x, float operand) {
  auto clamp01 = [](float v) { return v < 0 ? 0.0f : v > 1 ? 1.0f : v; };
  auto softplus = [](float v) { return std::max(v, 0.0f) + std::log1p(std::exp(-std::fabs(v))); };
  switch (op.kind) {
    case PostOpKind::relu: return x < 0 ? 0.0f : x;
    case PostOpKind::leaky_relu: return x < 0 ? op.alpha * x : x;
    case PostOpKind::elu: return x < 0 ? op.alpha * std::expm1(x) : x;
    case PostOpKind::gelu_erf: return 0.5f * x * (1 + std::erf(x * 0.70710678f));
    case PostOpKind::gelu_tanh: return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    case PostOpKind::tanh: return std::tanh(x);
    case PostOpKind::sigmoid: return 1 / (1 + std::exp(-x));
    case PostOpKind::swish: return x / (1 + std::exp(-op.alpha * x));
    case PostOpKind::exp: return std::exp(x);
    case PostOpKind::abs: return std::fabs(x);
    case PostOpKind::sqrt: return std::sqrt(x);
    case PostOpKind::square: return x * x;
    case PostOpKind::linear: return op.alpha * x + op.beta;
    case PostOpKind::clip: return x < op.alpha ? op.alpha : x > op.beta ? op.beta : x;
    case PostOpKind::hardswish: return x * clamp01(op.alpha * x + op.beta);
    case PostOpKind::hardsigmoid: return clamp01(op.alpha * x + op.beta);
    case PostOpKind::mish: return x * std::tanh(softplus(x));
    case PostOpKind::softplus: return softplus(op.alpha * x) / op.alpha;
    case PostOpKind::add: return x + operand;
    case PostOpKind::mul: return x * operand;
    case PostOpKind::sub: return x - operand;
    case PostOpKind::div: return x / operand;
    case PostOpKind::max: return x > operand || std::isnan(x) ? x : operand;
    case PostOpKind::min: return x < operand || std::isnan(x) ? x : operand;
    case PostOpKind::sum: return x + op.alpha * operand;
  }
  return x;
}

bool losesNan(PostOpKind kind) {
  switch (kind) {
    case PostOpKind::exp:
    case PostOpKind::clip:
    case PostOpKind::hardsigmoid:
    case PostOpKind::max:
    case PostOpKind::min: return true;
    default: return false;
  }
}

std::vector<PostOp> keepNan(std::vector<PostOp> postOps, bool mayLoseNan) {
  if (mayLoseNan) return postOps;
  std::vector<PostOp> out;
  for (const PostOp& op : postOps) {
    if (op.kind != PostOpKind::relu) {
      out.push_back(op);
      continue;
    }
    out.push_back({.kind = PostOpKind::elu, .alpha = 0});                // negative numbers become -0,
    out.push_back({.kind = PostOpKind::linear, .alpha = 1, .beta = 0});  // and that 0
  }
  return out;
}

namespace {

int64_t operandIndex(const ResultBlocks& shape, Broadcast broadcast, int64_t row, int64_t column, int64_t inPlane) {
  switch (broadcast) {
    case Broadcast::none: return (row * shape.columns + column) * shape.plane + inPlane;
    case Broadcast::row: return column;
    case Broadcast::column: return row;
    case Broadcast::scalar: return 0;
  }
  return 0;
}

/// body(index in the result, row, column, index in the plane)
template <class Body>
void forEachElement(const ResultBlocks& shape, const Body& body) {
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t column = 0; column < shape.columns; ++column)
      for (int64_t p = 0; p < shape.plane; ++p)
        body(operandIndex(shape, Broadcast::none, row, column, p), row, column, p);
}

/// Whether every word without its sign is below `limit`; in blocks free of branches, of compares that every machine has
/// as vectors.
template <class Word>
bool allBelow(const Word* words, int64_t count, Word limit) {
  constexpr int64_t kBlock = 4096;
  for (int64_t from = 0; from < count; from += kBlock) {
    const int64_t to = std::min(count, from + kBlock);
    Word beyond = 0;
    for (int64_t i = from; i < to; ++i)
      beyond |= (words[i] & std::numeric_limits<Word>::max()) >= limit ? Word{-1} : Word{0};
    if (beyond) return false;
  }
  return true;
}

}  // namespace

void fillWithoutProduct(const ResultBlocks& shape, const void* bias, std::span<const PostOp> postOps,
                        std::span<void* const> operands, void* result) {
  forEachElement(shape, [&](int64_t at, int64_t row, int64_t column, int64_t inPlane) {
    float value = bias ? loadFloat(bias, shape.biasType, column) : 0.0f;
    size_t next = 0;
    for (const PostOp& op : postOps) {
      float operand = 0;
      if (op.kind == PostOpKind::sum) operand = loadFloat(result, shape.result, at);
      if (hasOperand(op.kind))
        operand = loadFloat(operands[next++], op.dtype, operandIndex(shape, op.broadcast, row, column, inPlane));
      value = applyPostOp(op, value, operand);
    }
    storeFloat(result, shape.result, at, value);
  });
}

bool allFinite(const void* data, DType dtype, int64_t elements) {
  if (dtype == DType::f32) return allBelow<int32_t>(static_cast<const int32_t*>(data), elements, 0x7f800000);
  return allBelow<int16_t>(static_cast<const int16_t*>(data), elements, dtype == DType::bf16 ? 0x7f80 : 0x7c00);
}

void mendNonFinite(const ResultBlocks& shape, const void* product, std::span<const PostOp> postOps,
                   std::span<void* const> operands, void* result) {
  forEachElement(shape, [&](int64_t at, int64_t row, int64_t column, int64_t inPlane) {
    if (std::isfinite(loadFloat(result, shape.result, at))) return;
    float value = loadFloat(product, shape.result, at);
    size_t next = 0;
    for (const PostOp& op : postOps) {
      float operand = 0;
      if (hasOperand(op.kind))
        operand = loadFloat(operands[next++], op.dtype, operandIndex(shape, op.broadcast, row, column, inPlane));
      value = applyPostOp(op, value, operand);
    }
    storeFloat(result, shape.result, at, value);
  });
}

}  // namespace tokamak::library
