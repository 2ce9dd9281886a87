"""Index notation under construction: dimensions, indices, tensors and expressions.

A reshape splits or joins axes, and index notation knows neither. So a dimension may be *refined* at any time: 768
becomes (12, 64) everywhere, in the tensors that were recorded long before as well, because a tensor's axes and a
statement's variables only point to dimensions. What is joined again stays apart as two indices, one after the other.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator


class Uneven(Exception):
    """Two lists of dimensions cannot be refined until they agree."""


class Dim:
    """A dimension, never of size 1. Equal ones are united; a refined one has parts, outermost first."""

    def __init__(self, size: int):
        self.size = size
        self.parent: Dim | None = None
        self.parts: list[Dim] | None = None

    def root(self) -> Dim:
        while self.parent is not None:
            self = self.parent
        return self

    def leaves(self) -> list[Dim]:
        root = self.root()
        return [leaf for part in root.parts for leaf in part.leaves()] if root.parts else [root]


def unite(a: Dim, b: Dim) -> None:
    a, b = a.root(), b.root()
    if a is b:
        return
    if a.parts and b.parts:
        match(a.parts, b.parts)
    if a.parts is None:
        a, b = b, a
    b.parent = a


def match(left: Iterable[Dim], right: Iterable[Dim]) -> None:
    """Refines and unites until both lists have the same leaves. Raises Uneven."""
    queues = deque(left), deque(right)
    while queues[0] and queues[1]:
        a, b = queues[0].popleft().root(), queues[1].popleft().root()
        if a is b:
            continue
        if a.size == b.size:
            unite(a, b)
            continue
        if a.parts or b.parts:
            queues[0].extendleft(reversed(a.leaves()))
            queues[1].extendleft(reversed(b.leaves()))
            continue
        large, small = (a, b) if a.size > b.size else (b, a)
        if small.size == 0 or large.size % small.size:
            raise Uneven
        large.parts = [small, Dim(large.size // small.size)]
        queues[0].appendleft(a)
        queues[1].appendleft(b)
    if queues[0] or queues[1]:
        raise Uneven


class Index:
    """An axis of a tensor or a variable of a statement: it runs over a dimension, and is refined with it."""

    def __init__(self, dim: Dim):
        self.dim = dim
        self._parts: list[Index] | None = None

    def leaves(self) -> list[Index]:
        root = self.dim.root()
        if not root.parts:
            return [self]
        if self._parts is None:
            self._parts = [Index(part) for part in root.parts]
        return [leaf for part in self._parts for leaf in part.leaves()]

    @property
    def size(self) -> int:
        return self.dim.root().size


def leaves(indices: Iterable[Index]) -> list[Index]:
    return [leaf for index in indices for leaf in index.leaves()]


def dims(indices: Iterable[Index]) -> list[Dim]:
    return [index.dim for index in indices]


@dataclasses.dataclass(eq=False)
class Base:
    """A tensor of the program: an input or what a statement defines. Axes of size 1 are not kept."""

    name: str
    slots: list[Index]
    dtype: str = "f32"
    format: str | None = None
    shape: tuple[int, ...] = ()  # of an input, as torch has it
    source: object = None  # of an input, where its data come from
    layer: str = ""

    @property
    def is_input(self) -> bool:
        return self.source is not None


Axes = list[list[Index]]
"""The axes of a view: each a list of indices read as one, outermost first; an empty list is size 1 or repeats."""


class Expr:
    pass


@dataclasses.dataclass(eq=False)
class Number(Expr):
    value: float


@dataclasses.dataclass(eq=False)
class Get(Expr):
    """base[...]: which variable each axis of the base takes."""

    base: Base
    at: list[tuple[Index, Index]]

    def variables(self) -> list[Index]:
        """Of each axis of the base, in its order."""
        found = {
            id(axis): var for slot, index in self.at for axis, var in zip(slot.leaves(), index.leaves(), strict=True)
        }
        return [found[id(axis)] for axis in leaves(self.base.slots)]


@dataclasses.dataclass(eq=False)
class Apply(Expr):
    fn: str
    args: list[Expr]


@dataclasses.dataclass(eq=False)
class Where(Expr):
    pattern: Get
    body: Expr


@dataclasses.dataclass(eq=False)
class Fold(Expr):
    kind: str
    vars: list[Index]
    body: Expr
    patterns: list[Get] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Statement:
    base: Base
    vars: list[Index]
    value: Expr


@dataclasses.dataclass(eq=False)
class Value:
    """What a traced tensor is: a view of a base, or a number that is the same everywhere.

    `pattern` is an input, seen with the same axes: where that stores nothing, this is 0. `absent` is the same for what
    a truth is not. `mask` says of a value that was filled with -inf where it is kept.
    """

    shape: tuple[int, ...]
    dtype: object
    axes: Axes
    base: Base | None = None
    number: float = 0.0
    pattern: Value | None = None
    absent: Value | None = None
    mask: tuple[Value, Value] | None = None  # (kept values, condition)

    def at(self, axes: Axes) -> Expr:
        """This value at variables: one list of them an axis; axes that repeat take none."""
        if self.base is None:
            return Number(self.number)
        pairs = []
        for own, given in zip(self.axes, axes, strict=True):
            if own:
                pairs += list(zip(leaves(own), leaves(given), strict=True))
        return Get(self.base, pairs)

    def fresh(self) -> Axes:
        """New variables for every axis."""
        return [[Index(leaf.dim) for leaf in leaves(axis)] for axis in self.axes]


def walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    children: list[Expr] = []
    if isinstance(expr, Apply):
        children = expr.args
    elif isinstance(expr, Where):
        children = [expr.pattern, expr.body]
    elif isinstance(expr, Fold):
        children = [expr.body, *expr.patterns]
    for child in children:
        yield from walk(child)


def uses(expr: Expr) -> set[int]:
    """Ids of the variables that an expression reads."""
    return {id(var) for part in walk(expr) if isinstance(part, Get) for _, var in part.at}
