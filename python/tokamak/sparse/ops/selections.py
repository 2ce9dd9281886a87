"""Parts of tensors, and tensors put together: products with one-hot constants, which are as sparse as can be."""

from __future__ import annotations

from typing import Any

import torch

from ..index import Dim, Expr, Fold, Index, Uneven, Value, dims, leaves, match
from .arithmetic import call, unmasked
from .registry import op
from .views import seen, wrap


def one_hot(trace: Any, name: str, rows: int, columns: list[int], size: int) -> Value:
    """A constant of rows x size, with a one in each row where `columns` says."""
    values = torch.ones(len(columns), dtype=torch.float32)
    at = torch.tensor([list(range(rows)), columns], dtype=torch.int64)
    tensor = torch.sparse_coo_tensor(at, values, (rows, size), is_coalesced=True).to_sparse_csr()
    trace.held.append(tensor)
    return trace.input(name, tensor, tensor)


def taken(trace: Any, x: Value, axis: int, columns: list[int], dtype: Any) -> Value:
    """x at `columns` along an axis."""
    x = unmasked(trace, x)
    shape = (*x.shape[:axis], len(columns), *x.shape[axis + 1 :])
    if columns == list(range(x.shape[axis])):
        return x
    if not x.axes[axis]:
        return seen(x, shape, list)
    if whole_dense_input(x):
        return trace.part_of(x, axis, columns)
    if len(columns) == 1:
        return _one(trace, x, axis, columns[0], shape, dtype)
    block = len(columns)
    aligned = columns == list(range(columns[0], columns[0] + block)) and columns[0] % block == 0
    if aligned and x.shape[axis] % block == 0 and (cut := _cut(x, axis, block)) is not None:
        return _one(trace, cut, axis, columns[0] // block, shape, dtype, below=True)
    chosen = one_hot(trace, "chosen", block, columns, x.shape[axis])
    trace.match(dims(chosen.axes[1]), dims(x.axes[axis]))
    vars = x.fresh()
    fresh = [Index(leaf.dim) for leaf in leaves(chosen.axes[0])]
    value = Fold("sum", vars[axis], call("mul", x.at(vars), chosen.at([fresh, vars[axis]])))
    return trace.define("slice", shape, dtype, [*vars[:axis], fresh, *vars[axis + 1 :]], value)


def whole_dense_input(x: Value) -> bool:
    """Whether data can be sliced before the program sees them."""
    base = x.base
    if base is None or not base.is_input or base.format or x.shape != base.shape:
        return False
    return [id(slot) for axis in x.axes for slot in axis] == [id(slot) for slot in base.slots]


def _cut(x: Value, axis: int, block: int) -> Value | None:
    """The axis as two: which block, and where in it."""
    count = x.shape[axis] // block
    try:
        match(dims(x.axes[axis]), [Dim(count), Dim(block)] if block != 1 else [Dim(count)])
    except Uneven:
        return None
    rest = leaves(x.axes[axis])
    outer, size = [], 1
    while size < count:
        size *= rest[0].size
        outer.append(rest.pop(0))
    shape = (*x.shape[:axis], count, block, *x.shape[axis + 1 :])
    return Value(shape, x.dtype, [*x.axes[:axis], outer, rest, *x.axes[axis + 1 :]], x.base)


def _one(trace: Any, x: Value, axis: int, at: int, shape: tuple[int, ...], dtype: Any, below: bool = False) -> Value:
    """x at one place along an axis, which is dropped (`below`) or of size 1 afterwards."""
    values = torch.zeros(x.shape[axis])
    values[at] = 1
    hot = values.to_sparse()
    trace.held.append(hot)
    one = trace.input("one", hot, hot)
    trace.match(dims(one.axes[0]), dims(x.axes[axis]))
    vars = x.fresh()
    value: Expr = Fold("sum", vars[axis], call("mul", x.at(vars), one.at([vars[axis]])))
    left = [*vars[:axis], *([] if below else [[]]), *vars[axis + 1 :]]
    return trace.define("part", shape, dtype, left, value)


@op("slice", view=True)
def slice_of(trace, shapes, x, dim=0, start=None, end=None, step=1):
    axis = wrap(dim, len(x.shape))
    return taken(trace, x, axis, list(range(*slice(start, end, step).indices(x.shape[axis]))), x.dtype)


@op("narrow", view=True)
def narrow(trace, shapes, x, dim, start, length):
    axis = wrap(dim, len(x.shape))
    start = int(start.number) if isinstance(start, Value) else wrap(start, x.shape[axis])
    return taken(trace, x, axis, list(range(start, start + length)), x.dtype)


@op("select", view=True)
def select(trace, shapes, x, dim, index):
    axis = wrap(dim, len(x.shape))
    part = taken(trace, x, axis, [wrap(index, x.shape[axis])], x.dtype)
    return seen(part, shapes.shape, lambda axes: [*axes[:axis], *axes[axis + 1 :]])


@op("chunk", "split", "split_with_sizes", "tensor_split", "unsafe_chunk", "unsafe_split", view=True)
def split(trace, shapes, x, *args, **kwargs):
    dim = kwargs.get("dim", args[1] if len(args) > 1 else 0)
    axis = wrap(dim, len(x.shape))
    out, start = [], 0
    for part in shapes:
        size = part.shape[axis]
        out.append(taken(trace, x, axis, list(range(start, start + size)), x.dtype))
        start += size
    return out


@op("unbind", view=True)
def unbind(trace, shapes, x, dim=0):
    return [select(trace, part, x, dim, i) for i, part in enumerate(shapes)]


@op("cat", "concat", "concatenate")
def cat(trace, shapes, tensors, dim=0):
    tensors = [unmasked(trace, x) for x in tensors if x.shape != (0,)]
    shape = tuple(shapes.shape)
    axis = wrap(dim, len(shape))
    total: Expr | None = None
    size = Dim(shape[axis])
    joined = [Index(size)]
    start = 0
    template = None
    hots = []
    for x in tensors:
        extent = x.shape[axis]
        placed = one_hot(trace, "placed", extent, list(range(start, start + extent)), shape[axis])
        hots.append(placed)
        start += extent
        trace.match([size], dims(placed.axes[1]))
        if x.axes[axis] and placed.axes[0]:
            trace.match(dims(x.axes[axis]), dims(placed.axes[0]))
        if template is not None:
            for a, (own, other) in enumerate(zip(template.axes, x.axes, strict=True)):
                if a != axis and own and other:
                    trace.match(dims(own), dims(other))
        template = template or x
    vars = [joined if a == axis else [Index(leaf.dim) for leaf in leaves(_axis(tensors, a))] for a in range(len(shape))]
    for x, placed in zip(tensors, hots, strict=True):
        own = [Index(leaf.dim) for leaf in leaves(x.axes[axis] or placed.axes[0])]
        value: Expr = call(
            "mul", x.at([own if a == axis else vars[a] for a in range(len(shape))]), placed.at([own, joined])
        )
        value = Fold("sum", own, value) if own else value
        total = value if total is None else call("add", total, value)
    assert total is not None
    return trace.define("cat", shape, shapes.dtype, vars, total)


def _axis(tensors: list[Value], axis: int) -> list[Index]:
    return next((x.axes[axis] for x in tensors if x.axes[axis]), [])


@op("stack")
def stack(trace, shapes, tensors, dim=0):
    axis = wrap(dim, len(shapes.shape))
    apart = [
        seen(x, (*x.shape[:axis], 1, *x.shape[axis:]), lambda axes: [*axes[:axis], [], *axes[axis:]]) for x in tensors
    ]
    return cat(trace, shapes, apart, axis)
