#pragma once

#include <tuple>
#include <vector>

#include "graph/ops/field.h"
#include "graph/type.h"

namespace tokamak {

/// exp(x - max) / sum over `axis`; its logarithm if `log`.
///
///   %1 = softmax %0 {axis = 1} : f32[8, 64]
struct Softmax {
  static constexpr std::string_view mnemonic = "softmax";
  Axis axis = 0;
  bool log = false;
  static constexpr auto fields() { return std::tuple{shown("axis", &Softmax::axis), Field{"log", &Softmax::log}}; }
  bool operator==(const Softmax&) const = default;
};

enum class NormKind : uint8_t { layer, rms, batch, group, instance };
template <>
struct EnumNames<NormKind> {
  static constexpr std::array<std::string_view, 5> names = {"layer", "rms", "batch", "group", "instance"};
};

/// Normalisation. Operands: x, then weight and bias if `affine` (rms: weight only), then, for batch in inference, mean
/// and variance.
///   layer, rms   over the last `axes` axes; weight and bias have their shape
///   batch        x [N, C, ...]; with mean and variance operands uses them, else those of the batch (biased)
///   group        x [N, C, ...]; over C / groups channels and all spatial axes; weight and bias [C]
///   instance     x [N, C, ...]; over the spatial axes; weight and bias [C]
/// Computed in f32 for halves.
///
///   %3 = norm %x, %w, %b {kind = layer, axes = 1, eps = 1e-05, affine = true} : f32[8, 64]
struct Norm {
  static constexpr std::string_view mnemonic = "norm";
  NormKind kind = NormKind::layer;
  int64_t axes = 1;
  int64_t groups = 1;
  double eps = 1e-5;
  bool affine = false;
  static constexpr auto fields() {
    return std::tuple{shown("kind", &Norm::kind), Field{"axes", &Norm::axes}, Field{"groups", &Norm::groups},
                      Field{"eps", &Norm::eps}, Field{"affine", &Norm::affine}};
  }
  bool operator==(const Norm&) const = default;
};

enum class ActivationKind : uint8_t {
  relu,
  leaky_relu,
  elu,
  gelu,
  gelu_tanh,
  silu,
  softplus,
  mish,
  hardswish,
  hardsigmoid
};
template <>
struct EnumNames<ActivationKind> {
  static constexpr std::array<std::string_view, 10> names = {"relu", "leaky_relu", "elu",  "gelu",      "gelu_tanh",
                                                             "silu", "softplus",   "mish", "hardswish", "hardsigmoid"};
};

/// An activation function; its kind's name is the mnemonic. alpha: slope of leaky_relu, alpha of elu, beta of softplus;
/// threshold: of softplus (linear above it).
///
///   %1 = gelu %0 : f32[64]
///   %1 = leaky_relu %0 {alpha = 0.01} : f32[64]
struct Activation {
  ActivationKind kind = ActivationKind::relu;
  double alpha = 1.0;
  double threshold = 20.0;
  static constexpr auto fields() {
    return std::tuple{Field{"alpha", &Activation::alpha}, Field{"threshold", &Activation::threshold}};
  }
  bool operator==(const Activation&) const = default;
};

enum class LossReduction : uint8_t { none, mean, sum };
template <>
struct EnumNames<LossReduction> {
  static constexpr std::array<std::string_view, 3> names = {"none", "mean", "sum"};
};

/// Cross-entropy of logits [N, C] against class indices i64 [N]; result [N] or [] by `reduction`.
///
///   %2 = cross_entropy %logits, %target {reduction = mean, ignore = -100, smoothing = 0.1} : f32[]
struct CrossEntropy {
  static constexpr std::string_view mnemonic = "cross_entropy";
  LossReduction reduction = LossReduction::mean;
  int64_t ignore = -100;
  double smoothing = 0;
  static constexpr auto fields() {
    return std::tuple{shown("reduction", &CrossEntropy::reduction), Field{"ignore", &CrossEntropy::ignore},
                      Field{"smoothing", &CrossEntropy::smoothing}};
  }
  bool operator==(const CrossEntropy&) const = default;
};

/// x * (uniform(seed, offset) >= p) / (1 - p). Operands x, seed i64[], offset i64[].
///
///   %3 = dropout %x, %seed, %offset {p = 0.1} : f32[8, 64]
struct Dropout {
  static constexpr std::string_view mnemonic = "dropout";
  double p = 0.5;
  static constexpr auto fields() { return std::tuple{shown("p", &Dropout::p)}; }
  bool operator==(const Dropout&) const = default;
};

}  // namespace tokamak
