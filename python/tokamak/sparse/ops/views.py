"""Views: other axes on the same tensor. Nothing is written down."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from ..index import Axes, Value, dims, leaves
from .registry import op


def seen(value: Value, shape: Any, rearrange: Callable[[Axes], Axes]) -> Value:
    """The value, and all that is known of it, with other axes."""

    def other(known: Value | None) -> Value | None:
        return None if known is None else known if known is value else seen(known, shape, rearrange)

    out = dataclasses.replace(value, shape=tuple(shape), axes=rearrange(value.axes))
    out.pattern = out if value.pattern is value else other(value.pattern)
    out.absent = other(value.absent)
    if value.mask:
        whole = (widened(value.mask[0], value.shape), widened(value.mask[1], value.shape))
        out.mask = (seen(whole[0], shape, rearrange), seen(whole[1], shape, rearrange))
    return out


def widened(value: Value, shape: tuple[int, ...]) -> Value:
    """Broadcast to a shape."""
    missing = len(shape) - len(value.shape)
    if tuple(value.shape) == tuple(shape):
        return value
    return seen(value, shape, lambda axes: [[] for _ in range(missing)] + axes)


def wrap(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


@op("t", "numpy_T", view=True)
def t(trace, shapes, x):
    return seen(x, shapes.shape, lambda axes: axes[::-1])


@op("transpose", "swapaxes", "swapdims", view=True)
def transpose(trace, shapes, x, a, b):
    def swap(axes: Axes) -> Axes:
        out = list(axes)
        i, j = wrap(a, len(axes)), wrap(b, len(axes))
        if axes:
            out[i], out[j] = out[j], out[i]
        return out

    return seen(x, shapes.shape, swap)


@op("permute", view=True)
def permute(trace, shapes, x, order):
    return seen(x, shapes.shape, lambda axes: [axes[wrap(a, len(axes))] for a in order])


@op("mT", "adjoint", "matrix_H", view=True)
def m_t(trace, shapes, x):
    return seen(x, shapes.shape, lambda axes: [*axes[:-2], axes[-1], axes[-2]])


@op("unsqueeze", view=True)
def unsqueeze(trace, shapes, x, axis):
    at = wrap(axis, len(x.shape) + 1)
    return seen(x, shapes.shape, lambda axes: [*axes[:at], [], *axes[at:]])


@op("squeeze", view=True)
def squeeze(trace, shapes, x, axis=None):
    wanted = range(len(x.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    gone = {wrap(a, len(x.shape)) for a in wanted if x.shape[a] == 1}
    return seen(x, shapes.shape, lambda axes: [a for i, a in enumerate(axes) if i not in gone])


@op("expand", "broadcast_to", "expand_as", view=True)
def expand(trace, shapes, x, *_, **__):
    missing = len(shapes.shape) - len(x.shape)
    return seen(x, shapes.shape, lambda axes: [[] for _ in range(missing)] + axes)


@op("alias", "detach", "contiguous", "lift_fresh", "resolve_conj", "resolve_neg", view=True)
def same(trace, shapes, x, *_, **__):
    return seen(x, x.shape, list)


@op("clone")
def clone(trace, shapes, x, *_, **__):
    return x


@op("view", "reshape", "_unsafe_view", "flatten", "unflatten", "view_as", "reshape_as", view=True)
def reshape(trace, shapes, x, *args, **_):
    if shapes.dtype != x.dtype:
        raise trace.refuse("a view as another dtype", "cast outside the model")
    shape = tuple(shapes.shape)
    return seen(x, shape, lambda axes: regrouped(trace, axes, x.shape, shape))


def regrouped(trace: Any, axes: Axes, old: tuple[int, ...], new: tuple[int, ...]) -> Axes:
    """Groups of old and new axes that hold the same elements, each split until they agree."""
    out: Axes = []
    i = j = 0
    while i < len(old) or j < len(new):
        rows, columns = [i] if i < len(old) else [], [j] if j < len(new) else []
        i, j = i + len(rows), j + len(columns)
        while (left := math.prod(old[r] for r in rows)) != (right := math.prod(new[c] for c in columns)):
            if (left < right and i < len(old)) or j >= len(new):
                rows.append(i)
                i += 1
            else:
                columns.append(j)
                j += 1
            if i > len(old) or j > len(new):
                raise trace.refuse("a reshape of an empty tensor", "reshape before the axis is emptied", "T0916")
        out += split(trace, axes, rows, old, [new[c] for c in columns])
    return out


def split(trace: Any, axes: Axes, rows: list[int], old: tuple[int, ...], sizes: list[int]) -> Axes:
    """The axes `rows` as axes of other sizes, with as many elements."""
    from ..index import Dim

    repeats = [r for r in rows if old[r] != 1 and not axes[r]]
    large = [size for size in sizes if size != 1]
    if repeats:
        if len(repeats) == len([r for r in rows if old[r] != 1]):
            return [[] for _ in sizes]  # everything repeats, however it is cut
        if [old[r] for r in rows if old[r] != 1] == large:
            kept = iter([axes[r] for r in rows if old[r] != 1])
            return [[] if size == 1 else next(kept) for size in sizes]
        raise trace.refuse(
            "a reshape joins an axis that repeats with one that does not", "reshape before expand", "T0916"
        )
    indices = [index for r in rows for index in axes[r]]
    trace.match(dims(indices), [Dim(size) for size in large])
    rest = leaves(indices)
    out: Axes = []
    for size in sizes:
        taken = []
        count = 1
        while count < size:
            count *= rest[0].size
            taken.append(rest.pop(0))
        out.append(taken)
    return out
