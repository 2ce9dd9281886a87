"""Pooling of the last axes, and its gradients, which are pooling or scattering again."""

from __future__ import annotations

import torch

from tokamak.importer.segment import listed, product

from .algebra import rounded, widened
from .registry import Context, Unsupported, Value, lowers
from .shapes import spread, static

aten = torch.ops.aten


def per_axis(values, count: int, default=None) -> list[int]:
    values = [values] if isinstance(values, int) else list(values)
    values = values or list(default)
    values = values * count if len(values) == 1 else values
    return [static(v, "a window") for v in values]


def window(x: Value, out: tuple, kernel: list[int], stride, padding, dilation, ceil: bool) -> dict[str, list[int]]:
    """The attributes of `pool`; ceil_mode is more padding at the high end, or a shorter window if there is one."""
    count, kernel = len(kernel), list(kernel)
    stride, padding, dilation = per_axis(stride, count, kernel), per_axis(padding, count), per_axis(dilation, count)
    extra = [0] * count
    if ceil:
        for i, (n, m) in enumerate(zip(x.shape[-count:], out[-count:], strict=True)):
            n, m = static(n, "with ceil_mode an axis"), static(m, "with ceil_mode an axis")
            extra[i] = max(0, (m - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 - n - 2 * padding[i])
            if m == 1 and dilation[i] == 1:
                kernel[i], extra[i] = kernel[i] - extra[i], 0
    high = [p + e for p, e in zip(padding, extra, strict=True)]
    lists = {"window": kernel, "stride": stride, "low": padding, "high": high, "dilation": dilation}
    return lists | {"extra_high": extra}


def pool(c: Context, kind: str, x: Value, attributes: dict[str, list[int]], more: str = "") -> Value:
    text = ", ".join(f"{k} = {listed(v)}" for k, v in attributes.items())
    return c.b.op("pool", [x], f"kind = {kind}, {text}{more}")


@lowers(aten.max_pool2d_with_indices.default, aten.max_pool3d_with_indices.default)
def max_pool(c: Context, x: Value, kernel, stride=(), padding=0, dilation=1, ceil_mode: bool = False):
    count = 2 if c.node.target is aten.max_pool2d_with_indices.default else 3
    kernel = per_axis(kernel, count)
    attributes = window(x, c.shape_of(c.fake[0]), kernel, stride, padding, dilation, ceil_mode)
    return pool(c, "max", x, attributes), pool(c, "argmax", x, attributes)


@lowers(aten.max_pool2d_with_indices_backward.default, aten.max_pool3d_with_indices_backward.default)
def max_pool_backward(
    c: Context, grad: Value, x: Value, kernel, stride, padding, dilation, ceil_mode, indices: Value
) -> Value:
    return scatter_planes(c, grad, indices, 2 if c.node.target is aten.max_pool2d_with_indices_backward.default else 3)


@lowers(aten.adaptive_max_pool2d_backward.default, aten.adaptive_max_pool3d_backward.default)
def adaptive_max_pool_backward(c: Context, grad: Value, x: Value, indices: Value) -> Value:
    return scatter_planes(c, grad, indices, 2 if c.node.target is aten.adaptive_max_pool2d_backward.default else 3)


def scatter_planes(c: Context, grad: Value, indices: Value, count: int) -> Value:
    """Each gradient goes to the element that was the maximum of its window."""
    images = product(c.shape[:-count])
    size, picked = product(c.shape[-count:]), product(grad.shape[-count:])
    if 0 in (images, size, picked):
        return c.b.full(0, c.dtype, c.shape)
    grad, indices = (c.b.reshape(v, [images, picked]) for v in (widened(c, grad), indices))
    out = c.b.scatter("add", c.b.full(0, grad.dtype, [images, size]), indices, grad, 1)
    return rounded(c, c.b.reshape(out, c.shape), c.dtype)


@lowers(aten.avg_pool2d.default, aten.avg_pool3d.default)
def avg_pool(
    c: Context, x: Value, kernel, stride=(), padding=0, ceil_mode: bool = False, count_pad: bool = True, divisor=None
) -> Value:
    if not x.floating:
        raise Unsupported("an average of integers")
    count = 2 if c.node.target is aten.avg_pool2d.default else 3
    attributes = window(x, c.shape, per_axis(kernel, count), stride, padding, 1, ceil_mode)
    more = f", count_pad = {'true' if count_pad else 'false'}" + divided(divisor)
    return pool(c, "avg", x, attributes, more)


def divided(divisor: int | None) -> str:
    if divisor is None:
        return ""
    if divisor <= 0:
        raise Unsupported("a negative divisor")
    return f", divisor = {divisor}"


@lowers(aten.avg_pool2d_backward.default, aten.avg_pool3d_backward.default)
def avg_pool_backward(
    c: Context, grad: Value, x: Value, kernel, stride, padding, ceil_mode: bool, count_pad: bool, divisor
) -> Value:
    """An input gets from each window that it lies in: sums over windows of the gradients, set apart by the stride."""
    count = 2 if c.node.target is aten.avg_pool2d_backward.default else 3
    if 0 in c.shape:
        return c.b.full(0, c.dtype, c.shape)
    parts = window(x, grad.shape, per_axis(kernel, count), stride, padding, 1, ceil_mode)
    sizes = [static(n, "a pooled axis") for n in c.shape[-count:]]
    out = widened(c, grad)
    axes = range(out.rank - count, out.rank)
    if divisor is None:
        for i, axis in enumerate(axes):
            size = window_sizes(c, out, axis, sizes[i], {k: v[i] for k, v in parts.items()}, count_pad)
            out = c.b.div(out, c.b.cast(size, out.dtype))
    else:
        out = c.b.div(out, float(divisor))
    for i, axis in enumerate(axes):
        kernel, stride, low = parts["window"][i], parts["stride"][i], parts["low"][i]
        out = spread(c, out, axis, kernel - 1 - low, sizes[i] + kernel - 1, stride)
    ones, zeros = [1] * count, [0] * count
    back = {"window": parts["window"], "stride": ones, "low": zeros, "high": zeros, "dilation": ones}
    return rounded(c, pool(c, "avg", out, back, ", divisor = 1"), c.dtype)


def window_sizes(c: Context, grad: Value, axis: int, n: int, part: dict[str, int], count_pad: bool) -> Value:
    """How many elements each window counts along one axis, in the gradient's shape."""
    start = c.b.sub(c.b.mul(c.b.iota("i64", grad.shape, axis), part["stride"]), part["low"])
    asked = n + part["high"] - part["extra_high"]
    end = c.b.binary("min", c.b.add(start, part["window"]), asked if count_pad else n)
    return c.b.sub(end, start if count_pad else c.b.binary("max", start, 0))


def adaptive(c: Context, kind: str, x: Value, shape: tuple, count: int) -> Value:
    return c.b.op(
        "adaptive_pool", [x], f"kind = {kind}, spatial = {count}", "i64" if kind == "argmax" else x.dtype, shape
    )


@lowers(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default)
def adaptive_avg_pool(c: Context, x: Value, size) -> Value:
    return adaptive(c, "avg", x, c.shape, 2 if c.node.target is aten._adaptive_avg_pool2d.default else 3)


@lowers(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
def adaptive_max_pool(c: Context, x: Value, size):
    count, shape = (2 if c.node.target is aten.adaptive_max_pool2d.default else 3), c.shape_of(c.fake[0])
    return adaptive(c, "max", x, shape, count), adaptive(c, "argmax", x, shape, count)


@lowers(aten._adaptive_avg_pool2d_backward.default, aten._adaptive_avg_pool3d_backward.default)
def adaptive_avg_pool_backward(c: Context, grad: Value, x: Value) -> Value:
    """Where all windows have one size each gradient spreads over its own window."""
    count = 2 if c.node.target is aten._adaptive_avg_pool2d_backward.default else 3
    sizes = [static(n, "a pooled axis") for n in c.shape[-count:]]
    outputs = [static(m, "a pooled axis") for m in grad.shape[-count:]]
    if 0 in outputs or any(n % m for n, m in zip(sizes, outputs, strict=True)):
        raise Unsupported("the windows have different sizes")
    factors = [n // m for n, m in zip(sizes, outputs, strict=True)]
    scaled = c.b.div(widened(c, grad), float(product(factors)))
    lead = grad.rank - count
    shape, axes = list(grad.shape[:lead]), list(range(lead))
    for m, factor in zip(outputs, factors, strict=True):
        axes.append(len(shape))
        shape += [m, factor]
    return rounded(c, c.b.reshape(c.b.broadcast(scaled, axes, shape), c.shape), c.dtype)
