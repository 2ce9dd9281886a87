"""Views and copies: what moves elements and computes nothing."""

from __future__ import annotations

import torch

from tokamak.importer.dims import Dim
from tokamak.importer.segment import minus, plus, times

from .algebra import converted
from .registry import Context, Extent, Unsupported, Value, lowers

aten = torch.ops.aten


def axis_of(x: Value, dim: int) -> int:
    """Negative axes count from the end; a scalar has one axis to name."""
    if not -max(1, x.rank) <= dim < max(1, x.rank):
        raise Unsupported("there is no such axis, and ATen raises")
    return dim % max(1, x.rank)


def extent(size: int | Extent) -> Dim:
    return size.dim if isinstance(size, Extent) else size


def static(size: Dim | Extent, what: str) -> int:
    """The integer; symbolic ones are refused."""
    size = extent(size)
    if not isinstance(size, int):
        raise Unsupported(f"{what} is symbolic")
    return size


def bound(c: Context, start: int | Extent | None, n: Dim) -> Dim:
    """Where a slice of an axis of extent n starts: negative starts count from the end, all are clamped."""
    start = extent(start) if start is not None else 0
    if c.likely(start) < 0:
        start = plus(n, start)
    if isinstance(start, int) and isinstance(n, int):
        return min(max(start, 0), n)
    return start if c.likely(start) >= 0 else 0


@lowers(
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.unsqueeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.squeeze.default,
)
def view(c: Context, x: Value, *args) -> Value:
    return c.b.reshape(x, c.shape)


@lowers(aten.alias.default, aten.detach.default)
def alias(c: Context, x: Value) -> Value:
    return x


@lowers(aten.permute.default)
def permute(c: Context, x: Value, dims) -> Value:
    return c.b.transpose(x, [axis_of(x, d) for d in dims])


@lowers(aten.t.default)
def t(c: Context, x: Value) -> Value:
    return c.b.transpose(x, list(reversed(range(x.rank))))


@lowers(aten.transpose.int)
def transpose(c: Context, x: Value, a: int, b: int) -> Value:
    perm = list(range(x.rank))
    if perm:
        perm[a], perm[b] = perm[b], perm[a]
    return c.b.transpose(x, perm)


@lowers(aten.expand.default)
def expand(c: Context, x: Value, size, implicit: bool = False) -> Value:
    return c.b.broadcast_to(x, c.shape)


@lowers(aten.slice.Tensor)
def slice_(c: Context, x: Value, dim: int = 0, start=None, end=None, step=1) -> Value:
    axis = axis_of(x, dim)
    length = c.shape[axis]
    begin = 0 if length == 0 else bound(c, start, x.shape[axis])
    return c.b.narrow(x, axis, begin, length, static(step, "the step"))


@lowers(aten.select.int)
def select(c: Context, x: Value, dim: int, index) -> Value:
    axis = axis_of(x, dim)
    return c.b.reshape(c.b.narrow(x, axis, bound(c, index, x.shape[axis]), 1), c.shape)


@lowers(aten.cat.default)
def cat(c: Context, tensors, dim: int = 0) -> Value:
    rank = len(c.shape)
    parts = [c.b.cast(x, c.dtype) for x in tensors if x.rank == rank and (x.shape != (0,) or rank != 1)]
    if not parts:  # operands of shape [0] go with any other
        return c.b.full(0, c.dtype, c.shape)
    return c.b.concat(parts, dim % max(1, rank))


@lowers(aten.flip.default)
def flip(c: Context, x: Value, dims) -> Value:
    return c.b.flip(x, sorted({axis_of(x, d) for d in dims})) if x.rank else x


@lowers(aten.roll.default)
def roll(c: Context, x: Value, shifts, dims=()) -> Value:
    shape, shifts = x.shape, [shifts] if isinstance(shifts, (int, Extent)) else list(shifts)
    if not dims:
        x, dims = c.b.reshape(x, [c.b.count(x)]), [0]
    for shift, dim in zip(shifts, dims, strict=True):
        axis = axis_of(x, dim)
        n = static(x.shape[axis], "a rolled axis")
        shift = static(shift, "a shift") % max(n, 1)
        if shift:
            x = c.b.concat([c.b.narrow(x, axis, n - shift, shift), c.b.narrow(x, axis, 0, n - shift)], axis)
    return c.b.reshape(x, shape)


@lowers(aten.repeat.default)
def repeat(c: Context, x: Value, repeats) -> Value:
    new = len(repeats) - x.rank
    axes, shape = [], []
    for i, times_ in enumerate(repeats):
        shape.append(extent(times_))
        if i >= new:
            axes.append(len(shape))
            shape.append(x.shape[i - new])
    if len(shape) > 16:
        raise Unsupported("it would pass through more than 16 axes")
    return c.b.reshape(c.b.broadcast(x, axes, shape), c.shape)


@lowers(aten.unfold.default)
def unfold(c: Context, x: Value, dim: int, size, step) -> Value:
    if x.rank == 0:
        return c.b.broadcast_to(x, c.shape)
    axis, size, step = axis_of(x, dim), extent(size), static(step, "the step")
    n = c.shape[axis]
    if step == size and times(n, size) == x.shape[axis]:
        windows = c.b.reshape(x, [*x.shape[:axis], n, size, *x.shape[axis + 1 :]])
    else:
        index = c.b.add(c.b.mul(c.b.iota("i64", [n, size], 0), step), c.b.iota("i64", [n, size], 1))
        windows = c.b.index_select(x, index, axis)
    last = axis + 1
    return c.b.transpose(windows, [a for a in range(x.rank + 1) if a != last] + [last])


@lowers(aten.constant_pad_nd.default)
def constant_pad(c: Context, x: Value, pad, value=0) -> Value:
    low, high = [0] * x.rank, [0] * x.rank
    for i in range(len(pad) // 2):
        low[x.rank - 1 - i], high[x.rank - 1 - i] = extent(pad[2 * i]), extent(pad[2 * i + 1])
    if isinstance(value, Extent):
        raise Unsupported("the value is a size")
    return c.b.pad(x, low, high, c.scalar(value, x.dtype))


def spread(c: Context, x: Value, axis: int, start: Dim, n: Dim, step: int) -> Value:
    """Zeros of extent n along an axis, with x at start, start + step, ..."""
    length = x.shape[axis]
    if step != 1:
        wide = c.b.reshape(x, [*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]])
        high = [0] * wide.rank
        high[axis + 1] = step - 1
        wide = c.b.pad(wide, [0] * wide.rank, high, 0)
        length = times(length, step)
        x = c.b.reshape(wide, [*x.shape[:axis], length, *x.shape[axis + 1 :]])
    low, high = [0] * x.rank, [0] * x.rank
    low[axis], high[axis] = start, minus(minus(n, start), length)
    return c.b.pad(x, low, high, 0)


@lowers(aten.slice_backward.default)
def slice_backward(c: Context, grad: Value, sizes, dim: int, start, end, step) -> Value:
    axis, n = axis_of(grad, dim), c.shape[axis_of(grad, dim)]
    if grad.shape[axis] == 0:
        return c.b.full(0, c.dtype, c.shape)
    return spread(c, grad, axis, bound(c, start, n), n, static(step, "the step"))


@lowers(aten.select_backward.default)
def select_backward(c: Context, grad: Value, sizes, dim: int, index) -> Value:
    axis = dim % len(c.shape)
    n = c.shape[axis]
    return spread(c, c.b.unsqueeze(grad, axis), axis, bound(c, index, n), n, 1)


@lowers(aten.slice_scatter.default)
def slice_scatter(c: Context, x: Value, source: Value, dim: int = 0, start=None, end=None, step=1) -> Value:
    axis, step = axis_of(x, dim), static(step, "the step")
    n, length = x.shape[axis], source.shape[axis]
    source = converted(c, source, x.dtype)
    if length == 0:
        return x
    begin = bound(c, start, n)
    if step == 1:
        after = plus(begin, length)
        parts = [(x, 0, begin), (source, 0, length), (x, after, minus(n, after))]
        return c.b.concat([c.b.narrow(v, axis, at, size) for v, at, size in parts if size != 0], axis)
    n, length, begin = static(n, "the axis"), static(length, "the axis"), static(begin, "the start")
    past = c.b.sub(c.b.iota("i64", x.shape, axis), begin)
    hit = c.b.mul(c.b.binary("ge", past, 0), c.b.binary("lt", past, length * step))
    hit = c.b.mul(hit, c.b.binary("eq", c.b.binary("rem", past, step), 0))
    return c.b.select(hit, spread(c, source, axis, begin, n, step), x)


def diagonal_start(offset: int) -> tuple[int, int]:
    return max(-offset, 0), max(offset, 0)


def last_two(x: Value, dim1: int, dim2: int) -> list[int]:
    """The axes with these two at the end."""
    first, second = axis_of(x, dim1), axis_of(x, dim2)
    return [a for a in range(x.rank) if a not in (first, second)] + [first, second]


@lowers(aten.diagonal.default)
def diagonal(c: Context, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    length = c.shape[-1]
    if length == 0:
        return c.b.full(0, c.dtype, c.shape)
    x = c.b.transpose(x, last_two(x, dim1, dim2))
    rows, columns = x.shape[-2], static(x.shape[-1], "the second axis")
    row, column = diagonal_start(offset)
    flat = c.b.reshape(x, [*x.shape[:-2], times(rows, columns)])
    return c.b.narrow(flat, flat.rank - 1, row * columns + column, length, columns + 1)


@lowers(aten.diagonal_scatter.default)
def diagonal_scatter(c: Context, x: Value, source: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    if source.shape[-1] == 0:
        return x
    perm = last_two(x, dim1, dim2)
    moved = c.b.transpose(x, perm)
    row, _ = diagonal_start(offset)
    column_of_rows = spread(c, converted(c, source, x.dtype), source.rank - 1, row, moved.shape[-2], 1)
    source = c.b.broadcast(column_of_rows, list(range(moved.rank - 1)), moved.shape)
    rows, columns = (c.b.iota("i64", moved.shape, moved.rank - k) for k in (2, 1))
    inside = c.b.binary("eq", c.b.sub(columns, rows), offset)
    back = [perm.index(a) for a in range(x.rank)]
    return c.b.transpose(c.b.select(inside, source, moved), back)
