"""Writes a recorded program as `.ein` text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from . import formats
from .index import Apply, Base, Dim, Expr, Fold, Get, Index, Number, Statement, Where, leaves, walk

INFIX = {"add": ("+", 2), "sub": ("-", 2), "mul": ("*", 3), "div": ("/", 3)}
INFIX |= {"eq": ("==", 1), "ne": ("!=", 1), "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1)}
ATOM = 9


def dim_names() -> Iterator[str]:
    yield from "NMKFHEBCDGLPQRSTUV"
    for i in itertools.count():
        yield f"D{i}"


def var_names() -> Iterator[str]:
    yield from "ijklmnpqrstuvwxyz"
    for i in itertools.count():
        yield f"i{i}"


def number(value: float) -> str:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


class Printer:
    """The names of one statement's variables, given as they are met."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.fresh = var_names()
        self.kept: list[Index] = []  # ids stay theirs

    def variable(self, index: Index) -> str:
        if id(index) not in self.names:
            self.names[id(index)] = next(self.fresh)
            self.kept.append(index)
        return self.names[id(index)]

    def variables(self, indices: list[Index]) -> str:
        return ", ".join(self.variable(index) for index in leaves(indices))

    def access(self, get: Get) -> str:
        inside = ", ".join(self.variable(index) for index in get.variables())
        return f"{get.base.name}[{inside}]" if inside else get.base.name

    def expression(self, expr: Expr, binding: int = 0) -> str:
        text, own = self.form(expr)
        return text if own >= binding else f"({text})"

    def form(self, expr: Expr) -> tuple[str, int]:
        """The text of an expression and how tightly it holds together."""
        if isinstance(expr, Number):
            return number(expr.value), ATOM if expr.value >= 0 else 4
        if isinstance(expr, Get):
            return self.access(expr), ATOM
        if isinstance(expr, Where):
            return f"where({self.access(expr.pattern)}, {self.expression(expr.body)})", ATOM
        if isinstance(expr, Fold):
            over = f" in {', '.join(map(self.access, expr.patterns))}" if expr.patterns else ""
            return f"{expr.kind}({self.variables(expr.vars)}{over}: {self.expression(expr.body)})", ATOM
        assert isinstance(expr, Apply)
        if expr.fn in INFIX:
            sign, level = INFIX[expr.fn]
            left, right = expr.args
            return (
                f"{self.expression(left, level if level > 1 else 2)} {sign} {self.expression(right, level + 1)}",
                level,
            )
        if expr.fn == "pow":
            return f"{self.expression(expr.args[0], ATOM)}^{self.expression(expr.args[1], ATOM)}", 5
        if expr.fn == "neg":
            return f"-{self.expression(expr.args[0], 5)}", 4
        return f"{expr.fn}({', '.join(map(self.expression, expr.args))})", ATOM


def statement(item: Statement) -> str:
    printer = Printer()
    vars = printer.variables(item.vars)
    left = f"{item.base.name}[{vars}]" if vars else item.base.name
    if isinstance(item.value, Where):
        return f"{left} = {printer.expression(item.value.body)} where {printer.access(item.value.pattern)}"
    return f"{left} = {printer.expression(item.value)}"


def needed(statements: list[Statement], outputs: list[Base]) -> list[Statement]:
    """The statements that outputs depend on."""
    wanted = {id(base) for base in outputs}
    kept = []
    for item in reversed(statements):
        if id(item.base) in wanted:
            kept.append(item)
            wanted |= {id(part.base) for part in walk(item.value) if isinstance(part, Get)}
    return kept[::-1]


def inputs_of(statements: list[Statement]) -> list[Base]:
    """The inputs that statements read, in the order in which they are first read."""
    found: dict[int, Base] = {}
    for item in statements:
        for part in walk(item.value):
            if isinstance(part, Get) and part.base.is_input:
                found.setdefault(id(part.base), part.base)
    return list(found.values())


def program(statements: list[Statement], outputs: list[Base], header: str) -> str:
    names: dict[int, str] = {}
    kept: list[Dim] = []
    fresh = dim_names()

    def declared(base: Base, role: str) -> str:
        inside = []
        for leaf in leaves(base.slots):
            root = leaf.dim.root()
            if id(root) not in names:
                names[id(root)] = next(fresh)
                kept.append(root)
            inside.append(names[id(root)])
        kind = " ".join(filter(None, ["" if base.dtype == "f32" else base.dtype, formats.stored_as(base)]))
        return f"{role} {base.name}" + (f"[{', '.join(inside)}]" if inside else "") + (f": {kind}" if kind else "")

    inputs = [declared(base, "input") for base in inputs_of(statements)]
    results = [declared(base, "output") for base in outputs]
    body = [statement(item) for item in statements]
    sizes = [f"dim {', '.join(f'{names[id(dim)]} = {dim.size}' for dim in kept)}"] if kept else []
    return "\n".join([f"// {header}", *sizes, *inputs, *results, "", *body]) + "\n"
