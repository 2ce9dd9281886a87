"""Lowerings that are formulas.

A formula is a function of `Expr`s, values with Python's operators; numbers stay numbers:

    @formula(aten.frac.default)
    def frac(x):
        return x - x.trunc()

Its operands arrive in the dtype that torch computes in, with halves in f32, since eager rounds once for each op; its
results are rounded to the dtypes of the node's results and broadcast to their shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokamak.importer.segment import HALVES, INTEGERS, Segment

from .registry import Context, Extent, Value, lowers

METHODS = frozenset(
    "abs sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh erf erfc sigmoid floor ceil round trunc isnan isinf isfinite logical_not".split()
)


class Expr:
    """A value of a segment, with operators. `x.exp()` and the like are the ops of docs/ir.md."""

    __slots__ = ("b", "value")

    def __init__(self, b: Segment, value: Value):
        self.b, self.value = b, value

    def __getattr__(self, kind: str) -> Callable[[], Expr]:
        if kind not in METHODS:
            raise AttributeError(kind)
        return lambda: Expr(self.b, self.b.unary(kind, self.value))

    def apply(self, kind: str, other: Any, swapped: bool = False) -> Expr:
        x, y = self.value, raw(other)
        return Expr(self.b, self.b.binary(kind, y, x) if swapped else self.b.binary(kind, x, y))

    def max(self, other: Any) -> Expr:
        return self.apply("max", other)

    def min(self, other: Any) -> Expr:
        return self.apply("min", other)

    def number(self, value: bool | int | float) -> Expr:
        """A number in this value's dtype."""
        return Expr(self.b, self.b.full(value, self.value.dtype))

    def where(self, yes: Any, no: Any) -> Expr:
        """Where this (bool) holds `yes`, else `no`; one of them may be a number."""
        known = (yes if isinstance(yes, Expr) else no).value.dtype
        yes, no = (v.value if isinstance(v, Expr) else self.b.full(v, known) for v in (yes, no))
        return Expr(self.b, self.b.select(self.value, yes, no))

    def cast(self, dtype: str) -> Expr:
        return Expr(self.b, self.b.cast(self.value, dtype))

    def fold(self, kind: str, axes: list[int], correction: int = 0) -> Expr:
        """Folds these axes and keeps them with extent 1."""
        return Expr(self.b, self.b.reduce(kind, self.value, axes, True, correction)) if axes else self

    def along(self, axes: list[int], shape: Any) -> Expr:
        """Broadcast so that axis i becomes axes[i] of `shape`."""
        return Expr(self.b, self.b.broadcast(self.value, axes, shape))

    def reshape(self, shape: Any) -> Expr:
        return Expr(self.b, self.b.reshape(self.value, tuple(shape)))

    @property
    def shape(self) -> tuple:
        return self.value.shape

    def __neg__(self) -> Expr:
        return Expr(self.b, self.b.unary("neg", self.value))

    def __invert__(self) -> Expr:
        return Expr(self.b, self.b.unary("bitnot", self.value))


def raw(x: Any) -> Any:
    return x.value if isinstance(x, Expr) else x


for _python, _kind in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "mod": "rem", "floordiv": "floordiv", "pow": "pow",
    "and": "and", "or": "or", "xor": "xor",
}.items():  # fmt: skip
    setattr(Expr, f"__{_python}__", lambda self, other, _kind=_kind: self.apply(_kind, other))
    setattr(Expr, f"__r{_python}__", lambda self, other, _kind=_kind: self.apply(_kind, other, True))
for _kind in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Expr, f"__{_kind}__", lambda self, other, _kind=_kind: self.apply(_kind, other))
    setattr(Expr, _kind, lambda self, other, _kind=_kind: self.apply(_kind, other))
Expr.__hash__ = None  # type: ignore[assignment]


def widened(c: Context, x: Value) -> Value:
    """Halves in f32, as eager computes inside one op."""
    return c.b.cast(x, "f32", True) if x.dtype in HALVES else x


def exact(c: Context, x: Value) -> Value:
    """What eager takes moments of: f32 as f64 on the CPU, so that they are rounded once."""
    on_cpu = c.importer.device.type == "cpu"
    return c.b.cast(x, "f64") if x.dtype == "f32" and on_cpu else widened(c, x)


def rounded(c: Context, x: Value, dtype: str) -> Value:
    """The result of one op in its dtype; only here does it lose digits."""
    return c.b.cast(x, dtype, dtype in HALVES and x.dtype == "f32")


def converted(c: Context, x: Value, dtype: str, synthetic: bool = False) -> Value:
    """A cast that the program asks for. Floats that no integer holds become what the processor's instruction gives in
    eager, in 64 bits for i64 and u8 and in 32 for the others: x86 the least integer, a GPU the nearest one."""
    if not x.floating or dtype not in INTEGERS:
        return c.b.cast(x, dtype, synthetic)
    bits = 64 if dtype in ("i64", "u8") else 32
    least, value = -(2.0 ** (bits - 1)), Expr(c.b, widened(c, x))
    if c.importer.device.type == "cpu":
        whole = (value < -least).where(value.max(least), least).cast(f"i{bits}")
    elif bits == 64:
        whole = value.isnan().where(least, value).cast("i64")
    else:
        known = value.isnan().where(least, value) if x.dtype == "f64" else value
        whole = known.cast("i64").max(int(least)).min(-int(least) - 1)
    return c.b.cast(whole.value, dtype)


def operand(c: Context, x: Any, dtype: str) -> Any:
    """A value as an operand of an op whose result has this dtype: halves wide, integers first rounded as torch does."""
    if isinstance(x, Extent):
        return c.b.cast(c.b.size(x.dim), "f32" if dtype in HALVES else dtype)
    if not isinstance(x, Value):
        return x
    if dtype in HALVES:
        return widened(c, x if x.floating else c.b.cast(x, dtype)) if x.dtype != "f64" else c.b.cast(x, "f32")
    return c.b.cast(x, dtype)


def finish(c: Context, x: Value, fake: Any = None) -> Value:
    """The result in the node's shape and dtype."""
    fake = c.fake if fake is None else fake
    dtype, shape = c.type_of(fake)
    return c.b.broadcast_to(rounded(c, x, dtype), shape)


def formula(*targets: Any) -> Callable:
    """Registers a function of Exprs, which computes in the dtype of its (first) result."""

    def register(function: Callable) -> Callable:
        @lowers(*targets)
        def lowering(c: Context, *args: Any, **kwargs: Any) -> Any:
            fakes = c.fake if isinstance(c.fake, (tuple, list)) else [c.fake]
            dtype = c.type_of(fakes[0])[0]

            def prepare(x: Any) -> Any:
                x = operand(c, x, dtype)
                return Expr(c.b, x) if isinstance(x, Value) else x

            results = function(*map(prepare, args), **{name: prepare(x) for name, x in kwargs.items()})
            if not isinstance(results, tuple):
                return finish(c, results.value)
            return tuple(finish(c, r.value, f) for r, f in zip(results, fakes, strict=True))

        return function

    return register
