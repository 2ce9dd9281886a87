"""A segment: one Tokamak graph under construction, in terms of typed values.

Shapes broadcast as in torch, dtypes are equal unless a method says otherwise; lowerings say every cast. The methods
carry the names of docs/ir.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from torch._subclasses.fake_tensor import unset_fake_temporarily

from tokamak import _ext

from .dims import Dim, Unsupported, canonical

FLOATS = ("f16", "bf16", "f32", "f64")
HALVES = ("f16", "bf16")
INTEGERS = ("u8", "i8", "i16", "i32", "i64")


@dataclasses.dataclass(frozen=True)
class Value:
    """A value of a segment."""

    id: int
    dtype: str
    shape: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def floating(self) -> bool:
        return self.dtype in FLOATS


def plus(a: Dim, b: Dim) -> Dim:
    return a + b if isinstance(a, int) and isinstance(b, int) else canonical(f"({a}) + ({b})")


def minus(a: Dim, b: Dim) -> Dim:
    return a - b if isinstance(a, int) and isinstance(b, int) else canonical(f"({a}) - ({b})")


def times(a: Dim, b: Dim) -> Dim:
    return a * b if isinstance(a, int) and isinstance(b, int) else canonical(f"({a})*({b})")


def product(dims: Sequence[Dim]) -> Dim:
    total: Dim = 1
    for d in dims:
        total = times(total, d)
    return total


def written(value: bool | int | float, dtype: str) -> str:
    """A scalar as an attribute of this dtype."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in FLOATS:
        value = float(value)
        return "nan" if math.isnan(value) else repr(value)
    bits = 8 if dtype == "u8" else int(dtype[1:])
    low = 0 if dtype == "u8" else -(1 << (bits - 1))
    return str((int(value) - low) % (1 << bits) + low)  # integers wrap


def listed(values: Sequence) -> str:
    return "[" + ", ".join(str(v) for v in values) + "]"


class Segment:
    def __init__(self, name: str):
        self.graph = _ext.Graph(name)
        self.reshapes: dict[tuple, Value] = {}  # made so far: those alike are one value
        self.reshaped: dict[int, int] = {}  # of what each of them is one

    # Sources

    def input(self, name: str, dtype: str, shape: Sequence[Dim]) -> Value:
        return self._value(self.graph.input(name, dtype, list(shape)))

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        attributes: str = "",
        dtype: str | None = None,
        shape: Sequence[Dim] | None = None,
    ) -> Value:
        """Any op; dtype and shape where the op takes them from its declared type."""
        ids = [v.id for v in operands]
        if dtype is None:
            return self._value(self.graph.op(name, ids, attributes))
        return self._value(self.graph.op(name, ids, attributes, dtype, list(shape if shape is not None else ())))

    def _value(self, index: int) -> Value:
        dtype, shape = self.graph.type(index)
        return Value(index, dtype, shape)

    def constant(self, tensor) -> Value:
        with unset_fake_temporarily():
            return self._value(self.graph.constant(tensor.cpu()))

    def full(self, value: bool | int | float, dtype: str, shape: Sequence[Dim] = ()) -> Value:
        return self.op("full", [], f"value = {written(value, dtype)}", dtype, shape)

    def iota(self, dtype: str, shape: Sequence[Dim], axis: int) -> Value:
        return self.op("iota", [], f"axis = {axis}", dtype, shape)

    def size(self, dim: Dim) -> Value:
        """A size as a number, i64[]; it may be negative, as `n - 9` is."""
        if isinstance(dim, int):
            return self.full(dim, "i64")
        if "-" in dim:
            above, below = canonical(f"max({dim}, 0)"), canonical(f"max(-({dim}), 0)")
            return self.binary("sub", self.position(above), self.position(below))
        return self.position(dim)

    def position(self, dim: Dim) -> Value:
        """An extent as i64[]."""
        if isinstance(dim, int):
            return self.full(dim, "i64")
        return self.reshape(self.slice(self.iota("i64", [plus(dim, 1)], 0), [dim], [1]), [])

    def random(self, seed: Value, offset: int, kind: str, dtype: str, shape: Sequence[Dim]) -> Value:
        return self.op("random", [seed, self.full(offset, "i64")], f"kind = {kind}", dtype, shape)

    # Elementwise

    def unary(self, kind: str, x: Value) -> Value:
        return self.op(kind, [x])

    def binary(self, kind: str, x: Value | float, y: Value | float) -> Value:
        """Both values of one dtype, or one of them a number; a number with a half is computed with in f32."""
        if not isinstance(x, Value):
            assert isinstance(y, Value)
            if y.dtype in HALVES:
                return self._wide(kind, x, y, y.dtype)
            x = self.full(x, y.dtype)
        if not isinstance(y, Value):
            if x.dtype in HALVES:
                return self._wide(kind, x, y, x.dtype)
            y = self.full(y, x.dtype)
        if x.dtype != y.dtype:
            raise AssertionError(f"{kind} of {x.dtype} and {y.dtype}")
        x, y = self.together(x, y)
        return self.op(kind, [x, y])

    def _wide(self, kind: str, x: Value | float, y: Value | float, half: str) -> Value:
        x = self.cast(x, "f32", True) if isinstance(x, Value) else self.full(x, "f32")
        y = self.cast(y, "f32", True) if isinstance(y, Value) else self.full(y, "f32")
        out = self.binary(kind, x, y)
        return self.cast(out, half, True) if out.dtype == "f32" else out

    def add(self, x, y) -> Value:
        return self.binary("add", x, y)

    def sub(self, x, y) -> Value:
        return self.binary("sub", x, y)

    def mul(self, x, y) -> Value:
        return self.binary("mul", x, y)

    def div(self, x, y) -> Value:
        return self.binary("div", x, y)

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        condition, x, y = self.together(condition, x, y)
        return self.op("select", [condition, x, y])

    def cast(self, x: Value, dtype: str, synthetic: bool = False) -> Value:
        if x.dtype == dtype:
            return x
        return self.op("cast", [x], "synthetic = true" if synthetic else "", dtype, x.shape)

    # Shapes

    def together(self, *values: Value) -> list[Value]:
        """All broadcast to their common shape."""
        shape: tuple[Dim, ...] = ()
        for v in values:
            shape = self.common_shape(shape, v.shape)
        return [self.broadcast_to(v, shape) for v in values]

    @staticmethod
    def common_shape(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
        if len(a) < len(b):
            a, b = b, a
        out = list(a)
        for i, d in enumerate(b, len(a) - len(b)):
            if out[i] == 1:
                out[i] = d
            elif d not in (1, out[i]) and isinstance(d, int) and not isinstance(out[i], int):
                out[i] = d  # torch has proved them equal
        return tuple(out)

    def broadcast_to(self, x: Value, shape: Sequence[Dim]) -> Value:
        """Aligned at the last axis, as in torch."""
        if x.shape == tuple(shape):
            return x
        first = len(shape) - x.rank
        return self.broadcast(x, range(first, len(shape)), shape)

    def broadcast(self, x: Value, axes: Sequence[int], shape: Sequence[Dim]) -> Value:
        """Axis i of x becomes axis axes[i]."""
        kept = [i for i, a in enumerate(axes) if x.shape[i] == shape[a] or x.shape[i] != 1]
        if len(kept) < x.rank:  # axes of extent 1 that grow vanish first: fewer accesses to tell apart
            x = self.reshape(x, [x.shape[i] for i in kept])
        return self.op("broadcast", [x], f"axes = {listed([axes[i] for i in kept])}", x.dtype, shape)

    def reshape(self, x: Value, shape: Sequence[Dim]) -> Value:
        if x.shape == tuple(shape):
            return x
        key = (x.id, *shape)
        if key not in self.reshapes:
            self.reshapes[key] = self.op("reshape", [x], "", x.dtype, shape)
            self.reshaped[self.reshapes[key].id] = self.elements_of(x)
        return self.reshapes[key]

    def elements_of(self, x: Value) -> int:
        """The number of the value whose elements, in this order, x has in another shape."""
        return self.reshaped.get(x.id, x.id)

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        return x if list(perm) == list(range(x.rank)) else self.op("transpose", [x], f"perm = {listed(perm)}")

    def slice(self, x: Value, start: Sequence[Dim], shape: Sequence[Dim], stride: Sequence[int] | None = None) -> Value:
        stride = stride or [1] * x.rank
        if x.shape == tuple(shape) and all(s == 0 for s in start):
            return x
        return self.op("slice", [x], f"start = {listed(start)}, stride = {listed(stride)}", x.dtype, shape)

    def narrow(self, x: Value, axis: int, start: Dim, length: Dim, stride: int = 1) -> Value:
        starts, shape, strides = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[axis], shape[axis], strides[axis] = start, length, stride
        return self.slice(x, starts, shape, strides)

    def pad(self, x: Value, low: Sequence[Dim], high: Sequence[Dim], value) -> Value:
        return self.op("pad", [x], f"low = {listed(low)}, high = {listed(high)}, value = {written(value, x.dtype)}")

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        return values[0] if len(values) == 1 else self.op("concat", values, f"axis = {axis}")

    def flip(self, x: Value, axes: Sequence[int]) -> Value:
        return self.op("flip", [x], f"axes = {listed(sorted(axes))}") if axes else x

    @staticmethod
    def count(x: Value) -> Dim:
        return product(x.shape)

    def unsqueeze(self, x: Value, axis: int) -> Value:
        return self.reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]])

    # Indexing

    def gather(self, x: Value, index: Value, axis: int, checked: bool = False) -> Value:
        return self.op("gather", [x, index], f"axis = {axis}" + (", checked = true" if checked else ""))

    def index_select(self, x: Value, index: Value, axis: int, checked: bool = False) -> Value:
        return self.op("index_select", [x, index], f"axis = {axis}" + (", checked = true" if checked else ""))

    def scatter(self, kind: str, x: Value, index: Value, source: Value, axis: int) -> Value:
        return self.op("scatter", [x, index, source], f"axis = {axis}, kind = {kind}")

    # Folds

    def reduce(self, kind: str, x: Value, axes: Sequence[int], keepdim: bool = False, correction: int = 0) -> Value:
        axes = sorted(axes)
        if not axes:
            raise Unsupported("a fold over no axes")
        more = f", correction = {correction}" if correction else ""
        out = self.op("reduce", [x], f"kind = {kind}, axes = {listed(axes)}{more}")
        if keepdim:
            out = self.reshape(out, [1 if i in axes else d for i, d in enumerate(x.shape)])
        return out

    def scan(self, kind: str, x: Value, axis: int, reverse: bool = False) -> Value:
        return self.op("scan", [x], f"kind = {kind}, axis = {axis}" + (", reverse = true" if reverse else ""))

    # Products

    def matmul(self, a: Value, b: Value, bias: Value | None = None, ta: bool = False, tb: bool = False) -> Value:
        words = [f"transpose_{n} = true" for n, t in (("a", ta), ("b", tb)) if t]
        return self.op("matmul", [a, b, bias] if bias else [a, b], ", ".join(words))
