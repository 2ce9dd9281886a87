"""Symbolic numbers: where a plan finds what they are computed from when it runs, and how a segment gets them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.reference import PythonReferenceAnalysis

from tokamak import _ext

from .dims import BELOW, Unsupported, hint_of, may_be_negative
from .entries import Entry
from .segment import Segment, Value

if TYPE_CHECKING:
    from .graph import Importer

NUMBER, ABOVE_ZERO, BELOW_ZERO = -2, -3, -4
"""Where an input has an axis: it is a Python integer, or how far that is above zero, or below (`ext/plan.cpp`)."""


def number_slot(importer: Importer, entry: Entry) -> int:
    """A symbolic number computed from the symbols when the plan runs."""
    entry.slot = importer.new_slot()
    if isinstance(entry.fake, (int, float, bool)):
        importer.constants[entry.slot] = entry.fake
        return entry.slot
    expr = entry.fake.node.expr
    symbols = sorted(expr.free_symbols, key=lambda s: s.name)
    sources = [importer.symbols[s.name] for s in symbols]
    compute = evaluator(expr, symbols, [axis for _, axis in sources], type(entry.fake))
    args = tuple(_ext.Slot(importer.slot_of(e)) for e, _ in sources)
    level = entry.level = max([entry.level, *(e.level for e, _ in sources)])
    importer.before.setdefault(level, []).append(("call", compute, args, None, entry.slot))
    return entry.slot


def float_in(importer: Importer, entry: Entry, level: int) -> Value:
    """A symbolic float as f64[], which the plan makes before the segment runs."""
    if entry.tensor is None:
        number = importer.slot_of(entry)
        entry.tensor = Entry(importer.scalar(torch.float64), entry.level, slot=importer.new_slot())
        where = {"dtype": torch.float64, "device": importer.device}
        make = ("call", torch.full, ((), _ext.Slot(number)), where, entry.tensor.slot)
        importer.before.setdefault(entry.level, []).append(make)
    if entry.level > level:
        raise Unsupported("a symbolic number is known only after calls")
    return importer.value_in(entry.tensor, level)


def learn_symbol(importer: Importer, size: Any, entry: Entry, axis: int) -> None:
    """Notes where a symbol is found, if `size` is one."""
    if not isinstance(size, torch.SymInt) or not isinstance(symbol := size.node.expr, sympy.Symbol):
        return
    importer.symbols.setdefault(symbol.name, (entry, axis))
    hint = hint_of(size)
    importer.hints.setdefault(symbol.name, max(hint, 0))
    if may_be_negative(symbol, size.node.shape_env.var_to_range):
        importer.hints.setdefault(symbol.name + BELOW, max(-hint, 0))


def carry_symbols(importer: Importer, level: int, segment: Segment) -> None:
    """A segment learns each symbol from a tensor of shape [symbol, 0], whatever its other inputs are."""
    names = segment.graph.symbols()
    for name in names:
        entry, axis = importer.symbols[name.removesuffix(BELOW)]
        slot = importer.slot_of(entry)
        if name.endswith(BELOW) and axis == NUMBER:
            axis = BELOW_ZERO
        elif name.endswith(BELOW):  # of a tensor's extent
            slot, axis = importer.new_slot(), NUMBER
            importer.constants[slot] = 0
        elif axis == NUMBER and name + BELOW in names:
            axis = ABOVE_ZERO
        segment.input(f"size.{name}", "bool", [name, 0])
        importer.reads[level].append((slot, None, axis))


def evaluator(expr: sympy.Expr, symbols: list, axes: list[int], kind: type) -> Any:
    """A function of tensors and integers that computes a symbolic number."""
    convert = {torch.SymBool: bool, torch.SymFloat: float}.get(kind, int)
    number = as_function(expr, symbols)

    def compute(*sources):
        return convert(number(*(x if axis == NUMBER else x.shape[axis] for x, axis in zip(sources, axes, strict=True))))

    return compute


def as_function(expr: sympy.Expr, symbols: list) -> Any:
    """The expression as Python code, or interpreted where torch's printer does not know all of it."""
    names = [f"x{i}" for i in range(len(symbols))]
    renamed = expr.xreplace({s: sympy.Symbol(n, integer=True) for s, n in zip(symbols, names, strict=True)})
    try:
        function = eval(f"lambda {', '.join(names)}: {PythonPrinter().doprint(renamed)}", {"math": math})
        function(*(7 + i for i in range(len(symbols))))
        return function
    except Exception:
        return lambda *values: sympy_interp(PythonReferenceAnalysis, dict(zip(symbols, values, strict=True)), expr)
