"""Matrix products of every kind: sums of products over shared axes."""

from __future__ import annotations

from typing import Any

import torch

from ..index import Axes, Expr, Fold, Index, Value, dims, leaves
from .arithmetic import call, pointwise, unmasked
from .registry import op


def fresh(axis: list[Index]) -> list[Index]:
    return [Index(leaf.dim) for leaf in leaves(axis)]


def contraction(trace: Any, hint: str, operands: list[tuple[Value, str]], out: str, shapes: Any, **more: Any) -> Value:
    """sum of the operands' product over the letters that are not in `out`: an einsum."""
    operands = [(unmasked(trace, value), letters) for value, letters in operands]
    holders: dict[str, list[list[Index]]] = {}
    for value, letters in operands:
        for letter, axis in zip(letters, value.axes, strict=True):
            holders.setdefault(letter, [])
            if axis:
                holders[letter].append(axis)
    for axes in holders.values():
        for other in axes[1:]:
            trace.match(dims(axes[0]), dims(other))
    vars = {letter: fresh(axes[0]) if axes else [] for letter, axes in holders.items()}
    folded = [var for letter in vars if letter not in out for var in vars[letter]]
    expr: Expr | None = None
    for value, letters in operands:
        factor = value.at([vars[letter] for letter in letters])
        expr = factor if expr is None else call("mul", expr, factor)
    assert expr is not None
    repeats = _repeats(operands, out, holders)
    if folded:
        expr = Fold("sum", folded, expr)
    if repeats != 1:
        expr = call("mul", expr, repeats)
    axes: Axes = [vars[letter] for letter in out]
    return trace.define(hint, tuple(shapes.shape), shapes.dtype, axes, expr, **more)


def _repeats(operands: list[tuple[Value, str]], out: str, holders: dict[str, list[list[Index]]]) -> int:
    """How often a sum adds the same, along axes that every operand repeats."""
    count = 1
    for letter, axes in holders.items():
        if letter not in out and not axes:
            count *= next(value.shape[letters.index(letter)] for value, letters in operands if letter in letters)
    return count


@op("mm", "_sparse_mm", "spmm", "smm", "hspmm")
def mm(trace, shapes, a, b, *_):
    return contraction(trace, "mm", [(a, "ik"), (b, "kj")], "ij", shapes)


@op("bmm")
def bmm(trace, shapes, a, b):
    return contraction(trace, "bmm", [(a, "bik"), (b, "bkj")], "bij", shapes)


@op("mv")
def mv(trace, shapes, a, b):
    return contraction(trace, "mv", [(a, "ik"), (b, "k")], "i", shapes)


@op("dot", "vdot", "inner")
def dot(trace, shapes, a, b):
    if trace.now == "inner" and (len(a.shape) != 1 or len(b.shape) != 1):
        return NotImplemented
    return contraction(trace, "dot", [(a, "k"), (b, "k")], "", shapes)


@op("outer", "ger")
def outer(trace, shapes, a, b):
    return contraction(trace, "outer", [(a, "i"), (b, "j")], "ij", shapes)


@op("matmul", "linalg_matmul")
def matmul(trace, shapes, a, b):
    left = "k" if len(a.shape) == 1 else "ik"
    right = "k" if len(b.shape) == 1 else "kj"
    rank = max(len(a.shape), len(b.shape)) - 2
    batch = "abcdefgh"[: max(rank, 0)]
    (a, own), (b, others) = _batched(a, left, batch), _batched(b, right, batch)
    out = batch + left.replace("k", "") + right.replace("k", "")
    return contraction(trace, "matmul", [(a, own), (b, others)], out, shapes)


def _batched(x: Value, last: str, batch: str) -> tuple[Value, str]:
    return x, batch[len(batch) - (len(x.shape) - len(last)) :] + last if len(x.shape) > len(last) else last


@op("linear")
def linear(trace, shapes, x, weight, bias=None):
    lead = "abcdefgh"[: len(x.shape) - 1]
    if len(weight.shape) == 1:
        out = contraction(trace, "linear", [(x, lead + "k"), (weight, "k")], lead, shapes)
    else:
        out = contraction(trace, "linear", [(x, lead + "k"), (weight, "jk")], lead + "j", shapes)
    return out if bias is None else pointwise(trace, shapes, "bias", [out, bias], lambda y, b: call("add", y, b))


def _added(trace: Any, shapes: Any, start: Value, product: Value, beta: float, alpha: float) -> Value:
    def make(s, p):
        p = p if alpha == 1 else call("mul", alpha, p)
        return p if beta == 0 else call("add", s if beta == 1 else call("mul", beta, s), p)

    if beta == 0 and alpha == 1:
        return product
    return pointwise(trace, shapes, "add", [start, product], make)


@op("addmm", "_sparse_addmm", "sspaddmm")
def addmm(trace, shapes, start, a, b, *, beta=1, alpha=1):
    return _added(trace, shapes, start, mm(trace, shapes, a, b), beta, alpha)


@op("baddbmm")
def baddbmm(trace, shapes, start, a, b, *, beta=1, alpha=1):
    return _added(trace, shapes, start, bmm(trace, shapes, a, b), beta, alpha)


@op("addmv")
def addmv(trace, shapes, start, a, b, *, beta=1, alpha=1):
    return _added(trace, shapes, start, mv(trace, shapes, a, b), beta, alpha)


@op("einsum")
def einsum(trace, shapes, equation, operands, *, path=None):
    equation = equation.replace(" ", "")
    if "." in equation:
        raise trace.refuse("einsum with an ellipsis", "write all its letters")
    left, arrow, out = equation.partition("->")
    letters = left.split(",")
    if not arrow:
        out = "".join(sorted(c for c in set(left) if left.count(c) == 1 and c != ","))
    if any(len(set(own)) != len(own) for own in letters):
        raise trace.refuse("einsum takes a diagonal", "compute the diagonal outside the model")
    return contraction(trace, "einsum", list(zip(operands, letters, strict=True)), out, shapes)


@op("sparse_sampled_addmm", no_meta=True)
def sampled_addmm(trace, _, start, a, b, *, beta=1, alpha=1):
    """beta * start + alpha * a @ b, where `start` has stored entries."""
    from .masks import restricted

    shapes = torch.empty(start.shape, dtype=start.dtype, device="meta")
    for x, y in ((a.axes[-1], b.axes[-2]), (a.axes[-2], start.axes[-2]), (b.axes[-1], start.axes[-1])):
        if x and y:
            trace.match(dims(x), dims(y))
    vars = start.fresh()
    inner = fresh(a.axes[-1])
    s = start.at(vars)
    product: Expr = call("mul", a.at([*vars[:-1], inner]), b.at([*vars[:-2], inner, vars[-1]]))
    if inner:
        product = Fold("sum", inner, product)
    product = product if alpha == 1 else call("mul", alpha, product)
    value = product if beta == 0 else call("add", s if beta == 1 else call("mul", beta, s), product)
    return restricted(trace, "sampled", shapes, vars, value, start)
