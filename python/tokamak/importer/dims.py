"""Sizes: torch's symbolic integers (sympy expressions) as Tokamak's extents (text)."""

from __future__ import annotations

import functools
from typing import Any

import sympy
import torch
from torch.utils._sympy import functions

from tokamak import _ext

Dim = int | str  # an integer, or the canonical text of a symbolic extent


class Unsupported(Exception):
    """This op, as it is used here, is not ours; the message says why."""


BELOW = "_below"
"""Extents are zero or more. An integer `s` that may be negative is `s - s_below`: how far it is above zero and how far
below."""


def may_be_negative(symbol: sympy.Symbol, ranges: Any) -> bool:
    """Whether it is an integer that was given or read and no size: of those torch knows that they are zero or more."""
    return not symbol.is_nonnegative and not (symbol in ranges and ranges[symbol].lower >= 0)


def text_of(expr: sympy.Expr, signed: frozenset[sympy.Symbol] = frozenset()) -> str:
    """The expression in the grammar of docs/ir.md; symbols that are `signed` may be negative."""
    if isinstance(expr, (sympy.Integer, int)):
        return str(int(expr))
    if isinstance(expr, sympy.Symbol):
        return f"({expr.name} - {expr.name}{BELOW})" if expr in signed else expr.name
    args = [text_of(a, signed) for a in getattr(expr, "args", ())]
    if isinstance(expr, sympy.Add):
        return "(" + " + ".join(args) + ")"
    if isinstance(expr, sympy.Mul):
        return "*".join(f"({a})" for a in args)
    if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp > 0:
        return "*".join([f"({args[0]})"] * int(expr.exp))
    if isinstance(expr, (functions.FloorDiv, functions.CleanDiv)):
        return f"floordiv({args[0]}, {args[1]})"
    if isinstance(expr, (functions.Mod, functions.PythonMod)):
        return f"mod({args[0]}, {args[1]})"
    if isinstance(expr, functions.ModularIndexing):
        return f"mod(floordiv({args[0]}, {args[1]}), {args[2]})"
    for kind, name in ((functions.Max, "max"), (functions.Min, "min")):
        if isinstance(expr, kind):
            return functools.reduce(lambda a, b, name=name: f"{name}({a}, {b})", args)
    raise Unsupported(f"the size {expr} is not an expression that kernels compute")


@functools.lru_cache(4096)
def canonical(text: str) -> Dim:
    return _ext.dim(text)


def dim_of(size: Any) -> Dim:
    """A size of a fake tensor, or a SymInt, without guarding on its value."""
    if isinstance(size, torch.SymInt):
        expr, ranges = size.node.expr, size.node.shape_env.var_to_range
        return expr_dim(expr, frozenset(s for s in expr.free_symbols if may_be_negative(s, ranges)))
    return int(size)


@functools.lru_cache(4096)
def expr_dim(expr: sympy.Expr, signed: frozenset[sympy.Symbol]) -> Dim:
    return int(expr) if expr.is_Integer else canonical(text_of(expr, signed))


def shape_of(value: torch.Tensor) -> tuple[Dim, ...]:
    return tuple(dim_of(s) for s in value.shape)


def hint_of(size: Any) -> int:
    """A likely value, for sorting strides and for the cost model; never a guard."""
    if not isinstance(size, torch.SymInt):
        return int(size)
    node = size.node
    hint = getattr(node, "_hint", None)
    return int(hint) if isinstance(hint, (int, sympy.Integer)) else 4096


FUNCTIONS = {
    "floordiv": lambda a, b: a // b if b else 0,
    "ceildiv": lambda a, b: -(-a // b) if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "max": max,
    "min": min,
}


def evaluated(dim: Dim, values: dict[str, int]) -> int:
    """An extent for these values of its symbols."""
    return dim if isinstance(dim, int) else int(eval(dim, {"__builtins__": {}, **FUNCTIONS}, values))


def memory_order(value: torch.Tensor) -> list[int] | None:
    """The axes from outermost to innermost in memory if the tensor is dense in that order, else None.

    A contiguous tensor gives 0, 1, 2, ...; channels-last gives 0, 2, 3, 1.
    """
    if value.layout != torch.strided:
        return None
    sizes, strides = [hint_of(s) for s in value.shape], [hint_of(s) for s in value.stride()]
    order = sorted(range(len(sizes)), key=lambda a: (-strides[a], sizes[a] == 1, a))
    if 0 in sizes:
        return list(range(len(sizes)))
    expected = 1
    for axis in reversed(order):
        if sizes[axis] != 1 and strides[axis] != expected:
            return None
        expected *= sizes[axis]
    # Axes of extent 1 lie anywhere: where the plain order is as good it is taken.
    plain, expected = True, 1
    for axis in reversed(range(len(sizes))):
        plain &= sizes[axis] == 1 or strides[axis] == expected
        expected *= sizes[axis]
    return list(range(len(sizes))) if plain else order


def is_turned(value: object) -> bool:
    """Whether a tensor lies in another than plain order."""
    return isinstance(value, torch.Tensor) and memory_order(value) != list(range(value.dim()))


def inverse(order: list[int]) -> list[int]:
    out = [0] * len(order)
    for i, axis in enumerate(order):
        out[axis] = i
    return out
