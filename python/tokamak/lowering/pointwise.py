"""Elementwise ops, with torch's type promotion."""

from __future__ import annotations

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

from .registry import Context, Extent, Unsupported, Value, lowers

aten = torch.ops.aten


def compute_dtype(c: Context, *operands) -> str:
    """The dtype that torch promotes these arguments of the node to."""
    from tokamak.importer.graph import DTYPES

    dtype = torch.result_type(*operands) if len(operands) == 2 else elementwise_dtypes(*operands, type_promotion_kind=KIND.DEFAULT)[1]
    if dtype not in DTYPES:
        raise Unsupported(f"it computes in {dtype}")
    return DTYPES[dtype]


def as_dtype(c: Context, x, dtype: str):
    """A value cast; a number as it is."""
    if isinstance(x, Extent):
        raise Unsupported("a size is an operand")
    return c.b.cast(x, dtype) if isinstance(x, Value) else x


def widened(c: Context, x: Value) -> Value:
    """Halves in f32, as eager computes inside one op."""
    return c.b.cast(x, "f32", True) if x.dtype in ("f16", "bf16") else x


def narrowed(c: Context, x: Value, dtype: str) -> Value:
    return c.b.cast(x, dtype, True) if dtype in ("f16", "bf16") and x.dtype == "f32" else x


def finish(c: Context, x: Value) -> Value:
    """The result in the node's shape and dtype."""
    return c.b.broadcast_to(c.b.cast(x, c.dtype), c.shape)


FLOAT_UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc sigmoid"
).split()
SAME_UNARY = "neg abs floor ceil trunc".split()

for _name in FLOAT_UNARY:

    @lowers(getattr(aten, _name).default)
    def float_unary(c: Context, x: Value, _kind: str = _name) -> Value:
        return c.b.unary(_kind, c.b.cast(x, c.dtype))


for _name in SAME_UNARY:

    @lowers(getattr(aten, _name).default)
    def same_unary(c: Context, x: Value, _kind: str = _name) -> Value:
        return x if x.dtype == "bool" and _kind == "abs" else c.b.unary(_kind, x)


BINARY = {"add": "add", "sub": "sub", "mul": "mul"}


def arithmetic(c: Context, kind: str, x, y, alpha=1) -> Value:
    dtype = c.dtype
    x, y = as_dtype(c, x, dtype), as_dtype(c, y, dtype)
    if alpha != 1:
        if isinstance(alpha, Extent):
            raise Unsupported("alpha is a size")
        half = dtype in ("f16", "bf16")
        if half:  # one op in eager: nothing is rounded between the product and the sum
            x = c.b.cast(x, "f32", True) if isinstance(x, Value) else x
            y = c.b.cast(y, "f32", True) if isinstance(y, Value) else y
        y = c.b.mul(y, alpha) if isinstance(y, Value) else y * alpha
        out = c.b.binary(kind, x, y)
        return c.b.cast(out, dtype, True) if half else out
    return c.b.binary(kind, x, y)


for _name in ("add", "sub"):

    @lowers(getattr(aten, _name).Tensor, getattr(aten, _name).Scalar)
    def add_sub(c: Context, x, y, alpha=1, *, _kind: str = _name, **kw) -> Value:
        alpha = kw.pop("alpha", alpha)
        return finish(c, arithmetic(c, _kind, x, y, alpha))


@lowers(aten.mul.Tensor, aten.mul.Scalar)
def mul(c: Context, x, y) -> Value:
    return finish(c, arithmetic(c, "mul", x, y))


@lowers(aten.div.Tensor, aten.div.Scalar)
def div(c: Context, x, y) -> Value:
    return finish(c, arithmetic(c, "div", x, y))


@lowers(aten.maximum.default)
def maximum(c: Context, x: Value, y: Value) -> Value:
    return finish(c, arithmetic(c, "max", x, y))


@lowers(aten.minimum.default)
def minimum(c: Context, x: Value, y: Value) -> Value:
    return finish(c, arithmetic(c, "min", x, y))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):

    @lowers(getattr(aten, _name).Tensor, getattr(aten, _name).Scalar)
    def compare(c: Context, x, y, _kind: str = _name) -> Value:
        dtype = compute_dtype(c, *c.fake_args()[:2])
        return finish(c, c.b.binary(_kind, as_dtype(c, x, dtype), as_dtype(c, y, dtype)))


@lowers(aten.where.self)
def where(c: Context, condition: Value, x: Value, y: Value) -> Value:
    dtype = c.dtype
    return finish(c, c.b.select(c.b.cast(condition, "bool"), c.b.cast(x, dtype), c.b.cast(y, dtype)))


@lowers(aten.relu.default)
def relu(c: Context, x: Value) -> Value:
    return x if x.dtype == "bool" else c.b.op("relu", [x])


@lowers(aten.gelu.default)
def gelu(c: Context, x: Value, approximate: str = "none") -> Value:
    return c.b.op("gelu_tanh" if approximate == "tanh" else "gelu", [x])


@lowers(aten.silu.default)
def silu(c: Context, x: Value) -> Value:
    return c.b.op("silu", [x])


@lowers(aten._to_copy.default)
def to_copy(c: Context, x: Value, **kw) -> Value:
    return c.b.cast(x, c.dtype)


@lowers(torch.ops.prims.convert_element_type.default)
def convert(c: Context, x: Value, dtype) -> Value:
    return c.b.cast(x, c.dtype)


@lowers(aten.clone.default)
def clone(c: Context, x: Value, memory_format=None) -> Value:
    return x
