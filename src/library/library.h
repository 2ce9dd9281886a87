#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/decision.h"
#include "support/dtype.h"
#include "support/enum_names.h"
#include "support/kernel_abi.h"
#include "support/result.h"

/// Matrix products and convolutions by a vendor's library, behind one face. On the CPU: oneDNN 3, opened at run time.
namespace tokamak::library {

enum class PostOpKind : uint8_t {
  // of one value
  relu,
  leaky_relu,
  elu,
  gelu_erf,
  gelu_tanh,
  tanh,
  sigmoid,
  swish,
  exp,
  abs,
  sqrt,
  square,
  linear,
  clip,
  hardswish,
  hardsigmoid,
  mish,
  softplus,
  // with a further operand
  add,
  mul,
  sub,
  div,
  max,
  min,
  // with what the result held before
  sum
};

enum class Broadcast : uint8_t {
  none,    // operand has the result's shape
  row,     // one value a column, the same in every row: [n]; of a convolution: one a channel, [o]
  column,  // one value a row, the same in every column: [batch, m, 1]; matrix products only
  scalar   // one value
};

/// What is done to each element of the result before it is stored, in order, in f32. gelu_erf
/// is not to be had together with sum.
///
/// linear: alpha*x + beta; clip: to [alpha, beta]; leaky_relu and elu: slope alpha; hardsigmoid: clip(alpha*x + beta,
/// 0, 1); hardswish: x*clip(alpha*x + beta, 0, 1); softplus: log(1 + exp(alpha*x))/alpha; swish: x*sigmoid(alpha*x);
/// sum: adds alpha times the old result.
struct PostOp {
  PostOpKind kind = PostOpKind::relu;
  float alpha = 1, beta = 0;
  Broadcast broadcast = Broadcast::none;  // of the operand, for those that have one
  DType dtype = DType::f32;               // of the operand
  bool operator==(const PostOp&) const = default;
};

constexpr bool hasOperand(PostOpKind k) { return k >= PostOpKind::add && k <= PostOpKind::min; }

/// c[batch, m, n] = postOps(a[batch, m, k] * b[batch, k, n] + bias[n]). All dense row-major. Extents are given at the
/// call, so that one MatMulCall serves every value of a symbolic dimension.
struct MatMulDesc {
  DType a = DType::f32, b = DType::f32, c = DType::f32;  // f32, bf16, f16; products and sums are f32
  bool transposeA = false;                               // a is [batch, k, m]
  bool transposeB = false;                               // b is [batch, n, k]
  bool broadcastA = false;                               // a is one matrix for all of the batch
  bool broadcastB = false;                               // b is one matrix for all of the batch
  bool bias = false;
  DType biasType = DType::f32;
  bool constantB = false;   // b never changes: it is packed once and the packed copy kept
  bool mayLoseNan = false;  // clip, exp, hardsigmoid, max and min may turn NaN into a number; relu is faster then
  std::vector<PostOp> postOps;
  bool operator==(const MatMulDesc&) const = default;
};

struct MatMulDims {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool operator==(const MatMulDims&) const = default;
};

/// c[n, o, spatial...] = postOps(conv(a[n, c, spatial...], w[o, c/groups, kernel...]) + bias[o]); cross-correlation,
/// dense row-major; lists have one entry a spatial axis, 1 to 3 of them.
struct ConvDesc {
  int spatialRank = 2;
  DType dtype = DType::f32;  // of input, weights and result: f32, bf16, f16
  std::array<int64_t, 3> stride{1, 1, 1}, low{}, high{}, dilation{1, 1, 1};  // dilation 1: no holes
  int64_t groups = 1;
  bool bias = false;
  DType biasType = DType::f32;
  bool constantWeights = false;
  bool channelsLast = false;  // x, the result and operands of its shape are [N, spatial..., C]; else [N, C, spatial...]
  bool mayLoseNan = false;    // as in MatMulDesc
  std::vector<PostOp> postOps;
  bool operator==(const ConvDesc&) const = default;
};

struct ConvDims {
  int64_t batch = 1, channels = 0, outChannels = 0;
  std::array<int64_t, 3> input{1, 1, 1}, kernel{1, 1, 1};  // spatial extents
  bool operator==(const ConvDims&) const = default;
};

/// A product ready to be called with any extents, from many threads at once. Primitives are made on first use of
/// an extent and kept (a bounded number of them).
class MatMulCall {
 public:
  virtual ~MatMulCall() = default;
  virtual const MatMulDesc& desc() const = 0;
  /// Makes the primitive now, so that a failure shows at compile time and the first call is fast.
  virtual Result<> prepare(const MatMulDims& dims) const = 0;
  /// Buffers: a, b, [bias], operands of postOps in order, c. c overlaps none of the others.
  virtual Result<> run(const MatMulDims& dims, std::span<void* const> buffers) const = 0;
  /// What the library calls the code it runs for these extents, for reports.
  virtual Result<std::string> implementation(const MatMulDims& dims) const = 0;
};

class ConvCall {
 public:
  virtual ~ConvCall() = default;
  virtual const ConvDesc& desc() const = 0;
  virtual Result<> prepare(const ConvDims& dims) const = 0;
  /// Buffers: a, w, [bias], operands of postOps in order, c.
  virtual Result<> run(const ConvDims& dims, std::span<void* const> buffers) const = 0;
  virtual Result<std::string> implementation(const ConvDims& dims) const = 0;
};

/// Spatial extent of a convolution's result; zero or less when the kernel does not fit.
int64_t convExtent(const ConvDesc& desc, const ConvDims& dims, int axis);

class ScratchSource;  // library/scratch.h

struct LibraryOptions {
  std::string path;  // of libdnnl.so.3, or of the folder it is in; empty: look in the usual places
  std::vector<std::string>
      searchFolders;          // looked in after `path` and before the usual places ($TOKAMAK_ONEDNN: driver)
  int cachedPrimitives = 64;  // a call object keeps this many extents
  std::shared_ptr<ScratchSource> scratch;  // where calls' scratch comes from; null: memory each thread keeps
  std::shared_ptr<const KernelHost> host;  // runs our own loops; null: the caller's thread does
};

/// One library, opened. Safe from many threads; calls keep it open.
class Library {
 public:
  /// Never fails: where the library is missing `available` says so and what was tried.
  static std::shared_ptr<const Library> open(const LibraryOptions& options = {});
  virtual ~Library() = default;

  virtual Decision available() const = 0;
  virtual std::string version() const = 0;  // `oneDNN 3.2.0`; empty when absent
  virtual std::string path() const = 0;     // of the file opened
  /// Whether dtypes and post-ops can be served on this machine. Says yes only to what is faster than a plain loop.
  virtual Decision accepts(const MatMulDesc& desc) const = 0;
  virtual Decision accepts(const ConvDesc& desc) const = 0;
  /// Whether post-ops are applied before the result leaves the processor's registers: they cost next to nothing, where
  /// the product is not one of a batch.
  virtual bool appliesInRegisters(const MatMulDesc& desc) const = 0;
  virtual bool appliesInRegisters(const ConvDesc& desc) const = 0;
  virtual Result<std::shared_ptr<const MatMulCall>> matmul(const MatMulDesc& desc) const = 0;
  virtual Result<std::shared_ptr<const ConvCall>> conv(const ConvDesc& desc) const = 0;
};

}  // namespace tokamak::library

template <>
struct tokamak::EnumNames<tokamak::library::PostOpKind> {
  static constexpr std::array<std::string_view, 25> names = {
      "relu", "leaky_relu", "elu",    "gelu_erf", "gelu_tanh", "tanh",      "sigmoid",     "swish", "exp",
      "abs",  "sqrt",       "square", "linear",   "clip",      "hardswish", "hardsigmoid", "mish",  "softplus",
      "add",  "mul",        "sub",    "div",      "max",       "min",       "sum"};
};
template <>
struct tokamak::EnumNames<tokamak::library::Broadcast> {
  static constexpr std::array<std::string_view, 4> names = {"none", "row", "column", "scalar"};
};
