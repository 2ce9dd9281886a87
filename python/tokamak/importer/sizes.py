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

from .dims import Unsupported
from .entries import Entry
from .segment import Segment, Value

if TYPE_CHECKING:
    from .graph import Importer


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


def carry_symbols(importer: Importer, level: int, segment: Segment) -> None:
    """A segment learns each symbol from a tensor of shape [symbol, 0], whatever its other inputs are."""
    for name in segment.graph.symbols():
        entry, axis = importer.symbols[name]
        slot = importer.slot_of(entry)
        segment.input(f"size.{name}", "bool", [name, 0])
        importer.reads[level].append((slot, None, axis))


def evaluator(expr: sympy.Expr, symbols: list, axes: list[int], kind: type) -> Any:
    """A function of tensors and integers that computes a symbolic number."""
    convert = {torch.SymBool: bool, torch.SymFloat: float}.get(kind, int)
    number = as_function(expr, symbols)

    def compute(*sources):
        return convert(number(*(x if axis == -2 else x.shape[axis] for x, axis in zip(sources, axes, strict=True))))

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
