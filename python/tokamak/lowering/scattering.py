"""Writes at indices that are data: in the order of the index, so that equal indices never race."""

from __future__ import annotations

import torch

from tokamak.importer.segment import FLOATS, written

from .algebra import rounded, widened
from .indexing import as_index, indexed
from .registry import Context, Unsupported, Value, lowers
from .shapes import axis_of, static

aten = torch.ops.aten


def combine(c: Context, kind: str, x: Value, index: Value, source: Value, axis: int) -> Value:
    """A scatter; sums and products of halves are rounded once."""
    if kind in ("add", "mul"):
        return rounded(c, c.b.scatter(kind, widened(c, x), index, widened(c, source), axis), x.dtype)
    return c.b.scatter(kind, x, index, source, axis)


@lowers(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(c: Context, x: Value, indices, values: Value, accumulate: bool = False) -> Value:
    values = c.b.cast(values, x.dtype)
    masks = [i for i in indices if i is not None and i.dtype in ("bool", "u8")]
    if masks:
        return masked_put(c, x, indices, values, accumulate)
    view = indexed(c, x, indices, c.node.target is aten.index_put.default)
    before, after, picked = list(view.before), list(view.after), list(view.flat.shape)
    shape = [*before, *picked, *after]
    values = c.b.broadcast_to(values, shape)
    flat = c.b.broadcast(view.flat, range(len(before), len(before) + len(picked)), shape)
    count = c.b.count(view.flat)
    values, flat = (c.b.reshape(v, [*before, count, *after]) for v in (values, flat))
    rows = view.rows(c, x)
    out = combine(c, "add" if accumulate else "set", rows, flat, values, len(before))
    permuted = c.b.reshape(out, [x.shape[a] for a in view.perm])
    return c.b.transpose(permuted, [view.perm.index(a) for a in range(x.rank)])


def masked_put(c: Context, x: Value, indices, values: Value, accumulate: bool) -> Value:
    """One mask over the first axes and one value for all that it marks."""
    mask = indices[0]
    if mask is None or len([i for i in indices if i is not None]) > 1 or mask.dtype != "bool":
        raise Unsupported("a mask among other indices")
    if any(d != 1 for d in values.shape):
        raise Unsupported("the values of a mask: how many there are depends on data")
    mask = c.b.broadcast(mask, range(mask.rank), x.shape)
    values = c.b.broadcast_to(c.b.reshape(values, []), x.shape)
    return c.b.select(mask, c.b.add(x, values) if accumulate else values, x)


def scattered(c: Context, kind: str, x: Value, dim: int, index: Value, source: Value) -> Value:
    """torch's scatter: source may be larger than index, anything may be a scalar."""
    shape, index = x.shape, as_index(c, index)
    if 0 in index.shape:
        return x
    x, index, source = (c.b.reshape(v, [1]) if v.rank == 0 else v for v in (x, index, source))
    if source.shape != index.shape:
        source = c.b.slice(source, [0] * source.rank, index.shape)
    axis = axis_of(x, dim)
    if kind == "set" and index.shape == (*x.shape[:axis], 1, *x.shape[axis + 1 :]):
        out = placed(c, x, index, source, axis)
    else:
        out = combine(c, kind, x, index, source, axis)
    c.require_index(index, x, axis)
    return c.b.reshape(out, shape)


def placed(c: Context, x: Value, index: Value, source: Value, axis: int) -> Value:
    """One element of every row along an axis replaced: a choice at every place, which fuses with its neighbours."""
    places = c.b.iota(index.dtype, x.shape, axis)
    here = c.b.binary("eq", places, c.b.broadcast_to(index, x.shape))
    return c.b.select(here, c.b.broadcast_to(source, x.shape), x)


KINDS = {"add": "add", "multiply": "mul"}


def filled(c: Context, x: Value, index: Value, value) -> Value:
    return c.b.full(c.scalar(value, x.dtype), x.dtype, index.shape)


@lowers(aten.scatter.src)
def scatter_src(c: Context, x: Value, dim: int, index: Value, source: Value) -> Value:
    return scattered(c, "set", x, dim, index, source)


@lowers(aten.scatter.value)
def scatter_value(c: Context, x: Value, dim: int, index: Value, value) -> Value:
    return scattered(c, "set", x, dim, index, filled(c, x, index, value))


@lowers(aten.scatter.reduce)
def scatter_src_reduce(c: Context, x: Value, dim: int, index: Value, source: Value, *, reduce: str) -> Value:
    return scattered(c, KINDS[reduce], x, dim, index, source)


@lowers(aten.scatter.value_reduce)
def scatter_value_reduce(c: Context, x: Value, dim: int, index: Value, value, *, reduce: str) -> Value:
    return scattered(c, KINDS[reduce], x, dim, index, filled(c, x, index, value))


@lowers(aten.scatter_add.default)
def scatter_add(c: Context, x: Value, dim: int, index: Value, source: Value) -> Value:
    return scattered(c, "add", x, dim, index, source)


def identity(kind: str, dtype: str) -> bool | int | float:
    """What leaves the other operand as it is."""
    if kind in ("add", "mul"):
        return 0 if kind == "add" else 1
    if dtype == "bool":
        return kind == "min"
    if dtype in FLOATS:
        return float("inf") if kind == "min" else float("-inf")
    bits = 8 if dtype == "u8" else int(dtype[1:])
    low, high = (0, 255) if dtype == "u8" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return int(written(high if kind == "min" else low, dtype))


@lowers(aten.scatter_reduce.two)
def scatter_reduce(
    c: Context, x: Value, dim: int, index: Value, source: Value, reduce: str, *, include_self: bool = True
) -> Value:
    kind = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}[reduce]
    base = widened(c, x) if reduce == "mean" else x
    source = c.b.cast(source, base.dtype, True)
    if not include_self:
        base = scattered(c, "set", base, dim, index, filled(c, base, index, identity(kind, base.dtype)))
    out = scattered(c, kind, base, dim, index, source)
    if reduce != "mean":
        return out
    zeros = c.b.full(1 if include_self else 0, out.dtype, x.shape)
    count = scattered(c, "add", zeros, dim, index, filled(c, base, index, 1))
    count = c.b.binary("max", count, 1)
    return rounded(c, c.b.binary("div" if out.floating else "floordiv", out, count), x.dtype)


@lowers(aten.embedding_dense_backward.default)
def embedding_backward(c: Context, grad: Value, index: Value, rows, padding, scale_by_freq: bool) -> Value:
    if scale_by_freq:
        raise Unsupported("gradients are scaled by how often a row is read")
    index = as_index(c, index)
    count, width = c.b.count(index), c.shape[1]
    grad, index = c.b.reshape(grad, [count, width]), c.b.reshape(index, [count])
    if (padding := static(padding, "padding_idx")) >= 0:
        kept = c.b.unsqueeze(c.b.binary("ne", index, padding), 1)
        grad = c.b.select(kept, grad, c.b.full(0, grad.dtype))
    return combine(c, "add", c.b.full(0, c.dtype, c.shape), c.b.broadcast(index, [0], [count, width]), grad, 0)
