"""Convolutions."""

from __future__ import annotations

import torch

from tokamak.importer.segment import listed

from .registry import Context, Unsupported, Value, lowers
from .shapes import extent
from .windows import per_axis

aten = torch.ops.aten


@lowers(aten.convolution.default)
def convolution(
    c: Context,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride,
    padding,
    dilation,
    transposed: bool,
    output_padding,
    groups: int,
) -> Value:
    if transposed:
        raise Unsupported("a transposed convolution")
    if not x.floating:
        raise Unsupported("a convolution of integers")
    count = x.rank - 2
    if not 1 <= count <= 3:
        raise Unsupported(f"a convolution over {count} axes")
    stride, padding, dilation = (per_axis(v, count) for v in (stride, padding, dilation))
    taps = [extent(n) for n in weight.shape[2:]]
    if any(isinstance(n, int) and p > d * (n - 1) for n, p, d in zip(taps, padding, dilation, strict=True)):
        raise Unsupported("a convolution with windows wholly in the padding")
    lists = {"stride": stride, "low": padding, "high": padding, "dilation": dilation}
    text = ", ".join(f"{k} = {listed(v)}" for k, v in lists.items())
    operands = [x, weight] if bias is None else [x, weight, bias]
    return c.b.op("conv", operands, f"{text}, groups = {groups}")
