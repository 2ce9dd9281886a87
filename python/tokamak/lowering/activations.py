"""Activations and their derivatives, as ATen computes them: which side of a kink takes the equality, what NaN gives."""

from __future__ import annotations

import math
from typing import Any

import torch

from .algebra import Expr, formula
from .registry import Context, Value, lowers

aten = torch.ops.aten

for _name in ("silu", "mish", "hardswish", "hardsigmoid"):

    @lowers(getattr(aten, _name).default)
    def composite(c: Context, x: Value, _kind: str = _name) -> Value:
        return c.b.op(_kind, [x])


@lowers(aten.relu.default)
def relu(c: Context, x: Value) -> Value:
    return x if x.dtype == "bool" else c.b.op("relu", [x])


@lowers(aten.gelu.default)
def gelu(c: Context, x: Value, approximate: str = "none") -> Value:
    return c.b.op("gelu_tanh" if approximate == "tanh" else "gelu", [x])


@lowers(aten.softplus.default)
def softplus(c: Context, x: Value, beta: float = 1, threshold: float = 20) -> Value:
    return c.b.op("softplus", [x], f"alpha = {float(beta)!r}, threshold = {float(threshold)!r}")


@lowers(aten.leaky_relu.default)
def leaky_relu(c: Context, x: Value, slope: float = 0.01) -> Value:
    return c.b.op("leaky_relu", [x], f"alpha = {float(slope)!r}")


@formula(aten.hardtanh.default)
def hardtanh(x: Expr, low: float = -1, high: float = 1) -> Expr:
    return x.max(low).min(high)


@formula(aten.elu.default)
def elu(x: Expr, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Expr:
    negative = (x if input_scale == 1 else x * input_scale).expm1() * (alpha * scale)
    return (x < 0).where(negative, x if scale == 1 else x * scale)


@formula(aten.threshold.default)
def threshold(x: Expr, limit: float, value: float) -> Expr:
    return (x <= limit).where(value, x)


@formula(aten.hardshrink.default)
def hardshrink(x: Expr, limit: float = 0.5) -> Expr:
    return ((x >= -limit) & (x <= limit)).where(0, x)


@formula(aten.softshrink.default)
def softshrink(x: Expr, limit: float = 0.5) -> Expr:
    return (x > limit).where(x - limit, (x < -limit).where(x + limit, x.isnan().where(x, 0)))


@formula(aten._prelu_kernel.default)
def prelu(x: Expr, weight: Expr) -> Expr:
    return (x > 0).where(x, x * weight)


@formula(aten.log_sigmoid_forward.default)
def log_sigmoid_forward(x: Expr) -> tuple[Expr, Expr]:
    small = (-x.abs()).exp()
    return x.min(0) - small.log1p(), small


# Derivatives: the gradient of the output comes first unless the op says otherwise


@formula(aten.sigmoid_backward.default)
def sigmoid_backward(grad: Expr, y: Expr) -> Expr:
    return grad * ((1 - y) * y)


@formula(aten.tanh_backward.default)
def tanh_backward(grad: Expr, y: Expr) -> Expr:
    return grad * (1 - y * y)


@formula(aten.silu_backward.default)
def silu_backward(grad: Expr, x: Expr) -> Expr:
    s = x.sigmoid()
    return grad * s * (x * (1 - s) + 1)


@formula(aten.gelu_backward.default)
def gelu_backward(grad: Expr, x: Expr, approximate: str = "none") -> Expr:
    if approximate == "none":
        cdf = ((x * math.sqrt(0.5)).erf() + 1) * 0.5
        return grad * (cdf + x * ((x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi))))
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    square = x * x
    tanh = ((x + square * x * cubic) * factor).tanh()
    inner = (square * (3 * cubic) + 1) * factor
    return grad * ((tanh + 1) * 0.5 + x * 0.5 * (1 - tanh * tanh) * inner)


@formula(aten.mish_backward.default)
def mish_backward(grad: Expr, x: Expr) -> Expr:
    tanh = x.exp().log1p().tanh()
    return grad * (tanh + x * x.sigmoid() * (1 - tanh * tanh))


@formula(aten.hardswish_backward.default)
def hardswish_backward(grad: Expr, x: Expr) -> Expr:
    return (x <= -3).where(0, (x < 3).where(grad * (x / 3 + 0.5), grad))


@formula(aten.hardsigmoid_backward.default)
def hardsigmoid_backward(grad: Expr, x: Expr) -> Expr:
    return ((x > -3) & (x < 3)).where(grad * (1 / 6), 0)


@formula(aten.hardtanh_backward.default)
def hardtanh_backward(grad: Expr, x: Expr, low: float, high: float) -> Expr:
    return ((x <= low) | (x >= high)).where(0, grad)


@formula(aten.threshold_backward.default)
def threshold_backward(grad: Expr, x: Expr, limit: float) -> Expr:
    return (x <= limit).where(0, grad)


@formula(aten.hardshrink_backward.default, aten.softshrink_backward.default)
def shrink_backward(grad: Expr, x: Expr, limit: float) -> Expr:
    return ((x >= -limit) & (x <= limit)).where(0, grad)


@formula(aten.leaky_relu_backward.default)
def leaky_relu_backward(grad: Expr, x: Expr, slope: float, is_result: bool) -> Expr:
    return (x > 0).where(grad, grad * slope)


@formula(aten._prelu_kernel_backward.default)
def prelu_backward(grad: Expr, x: Expr, weight: Expr) -> tuple[Expr, Expr]:
    return (x > 0).where(grad, weight * grad), (x > 0).where(0, x * grad)


@formula(aten.elu_backward.default)
def elu_backward(grad: Expr, alpha: float, scale: float, input_scale: float, is_result: bool, x: Expr) -> Expr:
    if is_result:  # x is elu's result
        negative = grad * input_scale * (x + alpha * scale)
    else:
        negative = grad * (input_scale * alpha * scale) * (x if input_scale == 1 else x * input_scale).exp()
    return (x <= 0).where(negative, grad if scale == 1 else grad * scale)


@formula(aten.softplus_backward.default)
def softplus_backward(grad: Expr, x: Expr, beta: float, limit: float) -> Expr:
    scaled = x if beta == 1 else x * beta
    e = scaled.exp()
    return (scaled > limit).where(grad, grad * e / (e + 1))


@formula(aten.log_sigmoid_backward.default)
def log_sigmoid_backward(grad: Expr, x: Expr, small: Any) -> Expr:
    e = (-x.abs()).exp()
    share = e / (e + 1)
    return grad * (x < 0).where(1 - share, share)
