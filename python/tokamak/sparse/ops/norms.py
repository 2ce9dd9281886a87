"""Normalisations, as means and variances over the whole axis: an absent entry is 0 and counts."""

from __future__ import annotations

from typing import Any

from ..index import Axes, Fold, Value
from .arithmetic import call, pointwise, unmasked
from .registry import op


def scaled(trace: Any, shapes: Any, x: Value, weight: Value | None, bias: Value | None) -> Value:
    """x * weight + bias."""
    operands = [v for v in (x, weight, bias) if v is not None]

    def make(value, *rest):
        parts = iter(rest)
        value = value if weight is None else call("mul", value, next(parts))
        return value if bias is None else call("add", value, next(parts))

    return x if len(operands) == 1 else pointwise(trace, shapes, "affine", operands, make)


def split_rows(x, inner):
    """Variables of x; those of its last `inner` axes, which are folded; axes and shape of what a fold leaves."""
    kept = len(x.shape) - inner
    vars: Axes = x.fresh()
    over = [var for axis in vars[kept:] for var in axis]
    return vars, over, [*vars[:kept], *([] for _ in range(inner))], [*x.shape[:kept], *(1 for _ in range(inner))]


@op("layer_norm")
def layer_norm(trace, shapes, x, normalized_shape, weight=None, bias=None, eps=1e-5, *_):
    x = unmasked(trace, x)
    vars, over, rows, flat = split_rows(x, len(normalized_shape))
    if not over:
        zero = pointwise(trace, shapes, "norm", [0.0], lambda v: v)
        return scaled(trace, shapes, zero, weight, bias)
    mean = trace.define("mean", flat, shapes.dtype, rows, Fold("mean", over, x.at(vars)))
    off = call("sub", x.at(vars), mean.at(rows))
    spread = trace.define("var", flat, shapes.dtype, rows, Fold("mean", over, call("mul", off, off)))
    value = call("mul", off, call("rsqrt", call("add", spread.at(rows), eps)))
    out = trace.define("norm", x.shape, shapes.dtype, vars, value)
    return scaled(trace, shapes, out, weight, bias)


@op("rms_norm")
def rms_norm(trace, shapes, x, normalized_shape, weight=None, eps=None):
    import torch

    x = unmasked(trace, x)
    vars, over, rows, flat = split_rows(x, len(normalized_shape))
    value = x.at(vars)
    square = call("mul", value, value)
    mean = trace.define("mean", flat, shapes.dtype, rows, Fold("mean", over, square) if over else square)
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    out = trace.define(
        "norm", x.shape, shapes.dtype, vars, call("mul", value, call("rsqrt", call("add", mean.at(rows), eps)))
    )
    return scaled(trace, shapes, out, weight, None)


@op("batch_norm")
def batch_norm(trace, shapes, x, weight, bias, mean, var, training, momentum, eps, *_):
    if training:
        raise trace.refuse("batch norm in training changes its statistics", "call model.eval() first")
    channels = [None if v is None else _along_channels(x, v) for v in (mean, var, weight, bias)]
    mean, var, weight, bias = channels
    out = pointwise(trace, shapes, "norm", [x, mean, var],
                    lambda v, m, s: call("mul", call("sub", v, m), call("rsqrt", call("add", s, eps))))  # fmt: skip
    return scaled(trace, shapes, out, weight, bias)


def _along_channels(x: Value, v: Value) -> Value:
    """A vector of axis 1, to be broadcast against all axes."""
    from .views import seen

    behind = len(x.shape) - 2
    return seen(v, (*v.shape, *(1 for _ in range(behind))), lambda axes: [*axes, *([] for _ in range(behind))])
