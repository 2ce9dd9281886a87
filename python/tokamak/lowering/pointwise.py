"""Elementwise ops that have one counterpart in docs/ir.md, with torch's type promotion."""

from __future__ import annotations

import math
from typing import Any

import torch

from tokamak.importer.segment import HALVES, INTEGERS
from tokamak.rewriting import IMPLIED

from .algebra import Expr, converted, finish, formula, operand
from .divisors import DIVISIONS, require_divisor
from .fills import number
from .registry import Context, Extent, Unsupported, Value, dtype_name, lowers

aten = torch.ops.aten
prims = torch.ops.prims

FLOAT_UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc sigmoid"
).split()
SAME_UNARY = "neg abs sign floor ceil round trunc bitwise_not".split()
MNEMONICS = {"bitwise_not": "bitnot", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
             "bitwise_left_shift": "shl", "bitwise_right_shift": "shr", "maximum": "max", "minimum": "min",
             "remainder": "rem"}  # fmt: skip


def overloads(packet: str, *names: str) -> list[Any]:
    found = getattr(aten, packet)
    return [getattr(found, n) for n in names if n in found.overloads()]


for _name in FLOAT_UNARY:

    @lowers(getattr(aten, _name).default)
    def float_unary(c: Context, x: Value, _kind: str = _name) -> Value:
        return c.b.unary(_kind, c.b.cast(x, c.dtype))


for _name in SAME_UNARY:

    @lowers(getattr(aten, _name).default)
    def same_unary(c: Context, x: Value, _kind: str = MNEMONICS.get(_name, _name)) -> Value:
        whole = not x.floating and _kind in ("floor", "ceil", "round", "trunc")
        return x if whole or (x.dtype == "bool" and _kind in ("abs", "sign")) else c.b.unary(_kind, x)


for _name in ("isnan", "isinf", "isfinite", "logical_not"):

    @lowers(getattr(aten, _name).default)
    def predicate(c: Context, x: Value, _kind: str = _name) -> Value:
        if _kind != "logical_not" and not x.floating:
            return c.b.full(_kind == "isfinite", "bool", c.shape)
        return c.b.unary(_kind, x)


@lowers(aten.signbit.default)
def signbit(c: Context, x: Value) -> Value:
    if x.floating:
        raise Unsupported("the sign of a NaN and of zero is not a number's")
    return c.b.full(False, "bool", c.shape) if x.dtype in ("bool", "u8") else c.b.binary("lt", x, 0)


# Two operands


SCALED = ("mul", "div", "floordiv")


def factor(c: Context, y: Any, dtype: str) -> Any:
    """As `operand`, behind `*` or `/`: an integer for all halves is not rounded on the CPU."""
    one = isinstance(y, Value) and y.rank == 0 and not y.floating and not c.stops
    return c.b.cast(y, "f32") if one and dtype in HALVES else operand(c, y, dtype)


def as_half(c: Context, x: Any, dtype: str) -> Any:
    """A number, size or 0-d tensor among halves as eager's CPU takes it, but behind `*` or `/`: rounded first."""
    if dtype not in HALVES or c.stops:
        return x
    if isinstance(x, Extent):
        return c.b.cast(c.b.size(x.dim), dtype)
    if isinstance(x, Value):
        return c.b.cast(x, dtype) if x.floating and x.dtype != dtype else x
    return c.scalar(x, dtype)


def arithmetic(c: Context, kind: str, x: Any, y: Any, alpha: Any = 1) -> Value:
    """x kind (alpha y), both in the result's dtype; rounded once."""
    dtype = c.dtype
    x = as_half(c, x, dtype)
    if kind not in SCALED:
        y, alpha = as_half(c, y, dtype), as_half(c, alpha, dtype)
    alpha = operand(c, alpha, dtype)
    if isinstance(alpha, Value) and not isinstance(y, Value):
        raise Unsupported("alpha is a size")
    direct = alpha == 1 and all(isinstance(v, Value) and v.dtype == dtype for v in (x, y))
    x, y = (x, y) if direct else (operand(c, x, dtype), (factor if kind in SCALED else operand)(c, y, dtype))
    if alpha != 1:
        y = c.b.mul(y, alpha) if isinstance(y, Value) else c.scalar(y, dtype) * alpha
    if kind in DIVISIONS and dtype in INTEGERS:
        require_divisor(c, y, c.node.args[1])
    return finish(c, c.b.binary(kind, x, y))


for _name in ("add", "sub"):

    @lowers(*overloads(_name, "Tensor", "Scalar"))
    def add_sub(c: Context, x: Any, y: Any, alpha: Any = 1, _kind: str = _name) -> Value:
        return arithmetic(c, _kind, x, y, alpha)


@lowers(*overloads("rsub", "Tensor", "Scalar"))
def rsub(c: Context, x: Any, y: Any, alpha: Any = 1) -> Value:
    return arithmetic(c, "sub", y, x, alpha)


for _name in ("mul", "maximum", "minimum", "remainder", "fmod", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor",
              "bitwise_left_shift", "bitwise_right_shift"):  # fmt: skip

    @lowers(*overloads(_name, "default", "Tensor", "Scalar", "Scalar_Tensor", "Tensor_Scalar"))
    def binary(c: Context, x: Any, y: Any, _kind: str = MNEMONICS.get(_name, _name)) -> Value:
        return arithmetic(c, _kind, x, y)


for _packet in (aten.__lshift__, aten.__rshift__):

    @lowers(_packet.Tensor, _packet.Scalar)
    def shift(c: Context, x: Any, y: Any, _kind: str = "shl" if _packet is aten.__lshift__ else "shr") -> Value:
        if c.dtype not in INTEGERS:
            raise Unsupported("a shift of floats")
        return arithmetic(c, _kind, x, y)


@lowers(
    *overloads("div", "Tensor", "Scalar", "Tensor_mode", "Scalar_mode"), *overloads("true_divide", "Tensor", "Scalar")
)
def div(c: Context, x: Any, y: Any, rounding_mode: str | None = None) -> Value:
    if rounding_mode == "floor":
        return arithmetic(c, "floordiv", x, y)
    if rounding_mode is None or c.dtype in INTEGERS:
        return arithmetic(c, "div", x, y)
    dtype = c.dtype
    x, y = operand(c, as_half(c, x, dtype), dtype), factor(c, y, dtype)
    return finish(c, c.b.unary("trunc", c.b.binary("div", x, y)))


@lowers(aten.pow.Tensor_Tensor, aten.pow.Scalar)
def pow(c: Context, x: Any, y: Any) -> Value:
    return arithmetic(c, "pow", x, y)


POWERS = {
    2.0: lambda x: x * x, 3.0: lambda x: x * x * x, 0.5: lambda x: x.sqrt(), -0.5: lambda x: x.rsqrt(),
    -1.0: lambda x: x.reciprocal(), -2.0: lambda x: (x * x).reciprocal(),
}  # fmt: skip
"""Exponents that ATen has its own code for, the roots not for f16: those of -0.0 and of -inf show the difference."""


@lowers(aten.pow.Tensor_Scalar)
def pow_scalar(c: Context, x: Value, y: Any) -> Value:
    if isinstance(y, (Extent, Value)):
        return arithmetic(c, "pow", x, y)
    if y == 0 or y == 1:
        return finish(c, c.b.full(1, c.dtype, c.shape) if y == 0 else operand(c, x, c.dtype))
    special = POWERS.get(float(y)) if c.dtype != "f16" or float(y).is_integer() else None
    base = operand(c, x, c.dtype)
    if y < 0 and not base.floating:
        raise Unsupported("integers have no negative powers: it raises")
    if special is not None and (base.floating or y > 0):
        return finish(c, special(Expr(c.b, base)).value)
    if c.dtype == "f32" and c.fake.device.type == "cpu" and abs(y) < 1 << 20 and c.scalar(y, "f32") != y:
        return finish(c, power_between(Expr(c.b, base), y).value)
    return finish(c, c.b.binary("pow", base, as_half(c, y, c.dtype)))


def power_between(x: Expr, y: float) -> Expr:
    """x ** y on the CPU for an exponent that f32 does not hold, like 1/3, whose rounding would show ln(x) times as
    large: by f64, at the cost of the power of f32, which computes so too."""
    wide = (x == -math.inf).where(math.inf, x).cast("f64")
    return (wide.log() * y).exp().cast("f32")


# Comparisons and logic


def exactly(c: Context, x: Any, dtype: str) -> Any:
    """An operand rounded to the dtype, as torch does before it compares."""
    if isinstance(x, Extent):
        x = c.b.size(x.dim)
    if isinstance(x, Value):
        return c.b.cast(x, dtype)
    return torch.tensor(x, dtype=torch.float16 if dtype == "f16" else torch.bfloat16).item() if dtype in HALVES else x


def common(c: Context) -> str:
    """The dtype to which torch promotes the node's two operands."""
    numbers = [1 if isinstance(a, torch.SymInt) else 1.0 if isinstance(a, torch.SymFloat) else a for a in c.fake_args()]
    return dtype_name(torch.result_type(*numbers[:2]))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):

    @lowers(getattr(aten, _name).Tensor, getattr(aten, _name).Scalar)
    def compare(c: Context, x: Any, y: Any, _kind: str = _name) -> Value:
        dtype = common(c)
        return finish(c, c.b.binary(_kind, exactly(c, x, dtype), exactly(c, y, dtype)))


for _name in ("and", "or", "xor"):

    @lowers(getattr(aten, f"logical_{_name}").default)
    def logical(c: Context, x: Value, y: Value, _kind: str = _name) -> Value:
        x, y = (c.b.cast(exactly(c, v, common(c)), "bool") for v in (x, y))
        return finish(c, c.b.binary(_kind, x, y))


@lowers(aten.where.self)
def where(c: Context, condition: Value, x: Value, y: Value) -> Value:
    dtype = c.dtype
    return finish(c, c.b.select(c.b.cast(condition, "bool"), c.b.cast(x, dtype), c.b.cast(y, dtype)))


@lowers(aten.clamp.default, aten.clamp.Tensor)
def clamp(c: Context, x: Value, min: Any = None, max: Any = None) -> Value:
    out = operand(c, x, c.dtype)
    # Numbers that are NaN bound nothing on a GPU; on the CPU, and as tensors, they are the result.
    ignored = c.fake.device.type == "cuda"
    for kind, bound in (("max", min), ("min", max)):
        if bound is not None and not (ignored and isinstance(bound, float) and math.isnan(bound)):
            out = c.b.binary(kind, out, operand(c, bound, c.dtype))
    return finish(c, out)


@formula(aten.fmax.default)
def fmax(x: Expr, y: Expr) -> Expr:
    return x.ne(x).where(y, y.ne(y).where(x, x.max(y)))


@formula(aten.fmin.default)
def fmin(x: Expr, y: Expr) -> Expr:
    return x.ne(x).where(y, y.ne(y).where(x, x.min(y)))


# Copies


@lowers(aten._to_copy.default, prims.convert_element_type.default)
def convert(c: Context, x: Value, *args: Any, **kwargs: Any) -> Value:
    return converted(c, x, c.dtype, c.node.meta.get(IMPLIED, False))


@lowers(aten.clone.default, aten.lift_fresh_copy.default, aten.contiguous.default, prims.clone.default)
def copied(c: Context, x: Value, **kwargs: Any) -> Value:
    return x


@lowers(prims.copy_strided.default)
def copy_strided(c: Context, x: Value, stride: Any) -> Value:
    return x


@lowers(aten.copy.default)
def copy(c: Context, target: Value, x: Any, non_blocking: bool = False) -> Value:
    x = converted(c, x, c.dtype) if isinstance(x, Value) else number(c, x, c.dtype)
    return c.b.broadcast_to(x, c.shape)
