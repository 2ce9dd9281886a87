"""Symbolic numbers as functions of what holds their symbols when a plan runs."""

from __future__ import annotations

import math
from typing import Any

import sympy
import torch
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.reference import PythonReferenceAnalysis


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
