"""Reads at indices that are data. One out of range raises what eager does; memory is never read outside."""

from __future__ import annotations

import dataclasses

import torch

from tokamak.importer.dims import Dim
from tokamak.importer.segment import product
from tokamak.importer.views import root_of

from .errors import FROM_ZERO, written_op
from .registry import Context, Unsupported, Value, lowers
from .shapes import axis_of

aten = torch.ops.aten


def as_index(c: Context, index: Value) -> Value:
    if index.dtype in ("bool", "u8"):
        raise Unsupported("an index is a mask: the result's size depends on data")
    return index if index.dtype in ("i32", "i64") else c.b.cast(index, "i64")


def surely_below(index: torch.fx.Node, size: Dim) -> bool:
    """Whether an index counts up from a known start to a known end within range, as positions do."""
    count = root_of(index)
    if count.target is not aten.arange.start_step or len(count.args) not in (2, 3):
        return False
    if index.meta["val"].dtype != count.meta["val"].dtype:  # its bits seen as other numbers
        return False
    start, end, step = (*count.args, 1)[:3]
    return all(isinstance(n, int) for n in (start, end, step, size)) and start >= 0 and step > 0 and end <= size


def picked(c: Context, x: Value, index: Value, axis: int) -> Value:
    """Slices at indices that are neither negative nor too large."""
    if c.stops:
        return c.b.index_select(x, index, axis, checked=True)
    c.require_index(index, x, axis)
    return c.b.index_select(x, index, axis)


@lowers(aten.index_select.default)
def index_select(c: Context, x: Value, dim: int, index: Value) -> Value:
    index, axis = as_index(c, index), axis_of(x, dim)
    if x.rank == 0:
        c.require_index(index, x, 0)
        return c.b.reshape(x, c.shape)
    return picked(c, x, c.b.reshape(index, [c.b.count(index)]), axis)


@lowers(aten.embedding.default)
def embedding(
    c: Context, weight: Value, index: Value, padding=-1, scale_by_freq: bool = False, sparse: bool = False
) -> Value:
    index = as_index(c, index)
    if surely_below(c.node.args[1], weight.shape[0]):
        return c.b.index_select(weight, index, 0)
    return picked(c, weight, index, 0)


@lowers(aten.gather.default)
def gather(c: Context, x: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    index, shape = as_index(c, index), c.shape
    if x.rank == 0 or index.rank == 0:
        x, index = (c.b.reshape(v, [1]) if v.rank == 0 else v for v in (x, index))
    axis = axis_of(x, dim)
    if 0 in index.shape:
        return c.b.full(0, c.dtype, shape)
    if not c.stops:
        c.require_index(index, x, axis)
    return c.b.reshape(c.b.gather(x, index, axis, checked=c.stops), shape)


@dataclasses.dataclass(frozen=True)
class Indexed:
    """The axes that a list of index tensors addresses, as one axis.

    x is seen as [before..., span, after...] once its axes are permuted by perm; flat holds positions along span.
    """

    perm: list[int]
    before: tuple[Dim, ...]
    span: Dim
    after: tuple[Dim, ...]
    flat: Value

    def rows(self, c: Context, x: Value) -> Value:
        return c.b.reshape(c.b.transpose(x, self.perm), [*self.before, self.span, *self.after])


def indexed(c: Context, x: Value, indices, checked: bool) -> Indexed:
    """Index tensors beside each other stay where they are; apart from each other their axes come first, as in numpy."""
    at = [i for i, index in enumerate(indices) if index is not None]
    if not at or x.rank == 0:
        raise Unsupported("nothing is indexed")
    tensors = c.b.together(*(c.b.cast(as_index(c, indices[i]), "i64") for i in at))
    adjacent = at == list(range(at[0], at[-1] + 1))
    lead = list(range(at[0])) if adjacent else []
    rest = [a for a in range(x.rank) if a not in at and a not in lead]
    sizes = [x.shape[a] for a in at]
    flat = None
    for index, axis, size in zip(tensors, at, sizes, strict=True):
        if checked:
            c.require_index(index, x, axis, negative=written_op(c.node) not in FROM_ZERO)
        if len(at) > 1:
            n = c.b.size(size)
            index = c.b.select(c.b.binary("lt", index, 0), c.b.add(index, n), index)
            flat = c.b.add(c.b.mul(flat, n), index) if flat is not None else index
        else:
            flat = index
    shape = lambda axes: tuple(x.shape[a] for a in axes)  # noqa: E731
    return Indexed(lead + at + rest, shape(lead), product(sizes), shape(rest), flat)


@lowers(aten.index.Tensor)
def index(c: Context, x: Value, indices, checked: bool = True) -> Value:
    view = indexed(c, x, indices, checked)
    return c.b.index_select(view.rows(c, x), view.flat, len(view.before))


@lowers(aten._unsafe_index.Tensor)
def unsafe_index(c: Context, x: Value, indices) -> Value:
    return index(c, x, indices, checked=False)
