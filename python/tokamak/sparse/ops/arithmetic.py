"""Elementwise ops: arithmetic, comparisons, functions, casts."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from ..index import Apply, Expr, Number, Value
from .registry import op

ZERO_AT_ZERO = {"neg", "abs", "sqrt", "tanh", "relu", "gelu", "gelu_tanh", "silu", "sin", "erf"}
Scalar = int | float | bool


def call(fn: str, *args: Expr | Scalar) -> Apply:
    return Apply(fn, [arg if isinstance(arg, Expr) else Number(float(arg)) for arg in args])


def scalar(value: Scalar) -> Value:
    return Value((), torch.float64, [], None, float(value))


def as_value(item: Any) -> Value:
    return item if isinstance(item, Value) else scalar(item)


def pointwise(
    trace: Any, shapes: torch.Tensor, hint: str, values: list[Any], make: Any, pattern: Any = None, absent: Any = None
) -> Value:
    """A statement of `make(*operands)` at every position."""
    values = [unmasked(trace, as_value(v)) for v in values]
    shape = tuple(shapes.shape)
    vars, operands = trace.aligned(values, shape)
    if all(v.base is None for v in values):
        vars, operands = [[] for _ in shape], [Number(v.number) for v in values]
    return trace.define(hint, shape, shapes.dtype, vars, make(*operands), pattern=pattern, absent=absent)


def unmasked(trace: Any, value: Value) -> Value:
    """A value that was filled with -inf, written down after all: something other than a softmax reads it."""
    if value.mask is None:
        return value
    kept, condition = value.mask
    vars, (x, c) = trace.aligned([kept, condition], value.shape)
    return trace.define("masked", value.shape, value.dtype, vars, call("select", c, x, -math.inf))


def pattern_of(*values: Any) -> Value | None:
    """Of a product: the pattern of a factor that has the whole shape."""
    return next((v.pattern for v in values if isinstance(v, Value) and v.pattern), None)


def same_shape(pattern: Value | None, shapes: torch.Tensor) -> Value | None:
    return pattern if pattern is not None and pattern.shape == tuple(shapes.shape) else None


def check_float(trace: Any, *items: Any) -> None:
    for item in items:
        if isinstance(item, complex):
            raise trace.refuse("complex numbers", "give real numbers; sparse programs know no others", "T0912")


def plus(fn: str, alpha: Scalar) -> Any:
    """x + alpha * y, or x - alpha * y."""
    return lambda x, y: call(fn, x, y if alpha == 1 else call("mul", alpha, y))


@op("add")
def add(trace, shapes, a, b, *, alpha=1):
    check_float(trace, a, b, alpha)
    both = isinstance(a, Value) and isinstance(b, Value) and a.pattern is not None and a.pattern is b.pattern
    return pointwise(trace, shapes, "add", [a, b], plus("add", alpha), same_shape(a.pattern, shapes) if both else None)


@op("sub", "subtract")
def sub(trace, shapes, a, b, *, alpha=1):
    return pointwise(trace, shapes, "sub", [a, b], plus("sub", alpha))


@op("rsub")
def rsub(trace, shapes, a, b, alpha=1):
    return pointwise(trace, shapes, "sub", [b, a], plus("sub", alpha))


@op("mul", "multiply")
def mul(trace, shapes, a, b):
    return pointwise(trace, shapes, "mul", [a, b], lambda x, y: call("mul", x, y), same_shape(pattern_of(a, b), shapes))


@op("div", "divide", "true_divide")
def div(trace, shapes, a, b, *, rounding_mode=None):
    if rounding_mode is not None:
        raise trace.refuse(f"division that rounds ({rounding_mode})", "round outside the model")
    return pointwise(trace, shapes, "div", [a, b], lambda x, y: call("div", x, y), same_shape(pattern_of(a), shapes))


@op("pow")
def power(trace, shapes, a, b):
    keep = same_shape(pattern_of(a), shapes) if isinstance(b, (int, float)) and b > 0 else None
    return pointwise(trace, shapes, "pow", [a, b], lambda x, y: call("pow", x, y), keep)


for _name, _fn in {"maximum": "max", "minimum": "min", "logical_and": "and", "logical_or": "or", "bitwise_and": "and",
                   "bitwise_or": "or", "__and__": "and", "__or__": "or"}.items():  # fmt: skip

    @op(_name)
    def two(trace, shapes, a, b, _fn=_fn, _name=_name):
        if _name in ("bitwise_and", "bitwise_or", "__and__", "__or__") and shapes.dtype != torch.bool:
            raise trace.refuse("an op on bits of integers", "compute it outside the model")
        return pointwise(trace, shapes, _fn, [a, b], lambda x, y: call(_fn, x, y))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):

    @op(_name)
    def compare(trace, shapes, a, b, _fn=_name):
        zero = same_shape(pattern_of(a), shapes) if isinstance(b, (int, float)) and b == 0 else None
        false = _fn in ("ne", "lt", "gt")  # at 0
        return pointwise(trace, shapes, _fn, [a, b], lambda x, y: call(_fn, x, y), zero if false else None,
                         None if false else zero)  # fmt: skip


SAME_NAME = "neg abs exp log sqrt rsqrt reciprocal tanh sigmoid relu silu sin cos erf".split()
OTHER_NAME = {"negative": "neg", "logical_not": "not", "bitwise_not": "not"}

for _name, _fn in [*((name, name) for name in SAME_NAME), *OTHER_NAME.items()]:

    @op(_name)
    def one(trace, shapes, x, _fn=_fn, _name=_name):
        if _name == "bitwise_not" and shapes.dtype != torch.bool:
            raise trace.refuse("an op on bits of integers", "compute it outside the model")
        if _fn == "not":
            return negated(trace, x)
        keep = pattern_of(x) if _fn in ZERO_AT_ZERO else None
        return pointwise(trace, shapes, _fn, [x], lambda v: call(_fn, v), keep)


@op("gelu")
def gelu(trace, shapes, x, *, approximate="none"):
    fn = "gelu" if approximate == "none" else "gelu_tanh"
    return pointwise(trace, shapes, "gelu", [x], lambda v: call(fn, v), pattern_of(x))


@op("leaky_relu")
def leaky_relu(trace, shapes, x, negative_slope=0.01):
    pick = "max" if negative_slope <= 1 else "min"
    return pointwise(
        trace, shapes, "leaky_relu", [x], lambda v: call(pick, v, call("mul", negative_slope, v)), pattern_of(x)
    )


@op("elu")
def elu(trace, shapes, x, alpha=1, scale=1, input_scale=1):
    def make(v):
        below = call("mul", alpha, call("sub", call("exp", call("min", call("mul", input_scale, v), 0)), 1))
        return call("mul", scale, call("select", call("gt", v, 0), v, below))

    return pointwise(trace, shapes, "elu", [x], make)


@op("square")
def square(trace, shapes, x):
    return pointwise(trace, shapes, "square", [x], lambda v: call("mul", v, v), pattern_of(x))


@op("expm1")
def expm1(trace, shapes, x):
    return pointwise(trace, shapes, "expm1", [x], lambda v: call("sub", call("exp", v), 1))


@op("log1p")
def log1p(trace, shapes, x):
    return pointwise(trace, shapes, "log1p", [x], lambda v: call("log", call("add", 1, v)))


@op("clamp", "clip", "hardtanh", "clamp_min", "clamp_max", "relu6")
def clamp(trace, shapes, x, min=None, max=None):
    if trace.now == "hardtanh":
        min, max = -1.0 if min is None else min, 1.0 if max is None else max
    if trace.now == "clamp_max":
        min, max = None, min
    if trace.now == "relu6":
        min, max = 0.0, 6.0

    def make(v, *bounds):
        rest = iter(bounds)
        out = v
        if min is not None:
            out = call("max", out, next(rest))
        return out if max is None else call("min", out, next(rest))

    return pointwise(trace, shapes, "clamp", [x, *(bound for bound in (min, max) if bound is not None)], make)


@op("where")
def where(trace, shapes, condition, a=None, b=None):
    if a is None:
        raise trace.refuse("where with one operand finds positions", "find them outside the model")
    a, b = as_value(a), as_value(b)
    if b.base is None and b.number <= NEGATIVE and b.mask is None:
        return filled(trace, shapes, a, condition)
    return pointwise(trace, shapes, "where", [condition, a, b], lambda c, x, y: call("select", c, x, y))


NEGATIVE = -1e4
"""What a mask is filled with is this or less: where a softmax follows, nothing is left of it."""


def filled(trace: Any, shapes: torch.Tensor, kept: Value, condition: Value) -> Value:
    """`kept` where `condition`, else -inf. It is not written down before something reads it."""
    shape = tuple(shapes.shape)
    return Value(shape, shapes.dtype, [[] for _ in shape], None, -math.inf, mask=(kept, condition))


@op("masked_fill")
def masked_fill(trace, shapes, x, mask, value):
    fill = as_value(value)
    if fill.base is None and fill.number <= NEGATIVE and x.mask is None:
        return filled(trace, shapes, x, negated(trace, mask))
    return pointwise(trace, shapes, "masked_fill", [mask, fill, x], lambda c, y, v: call("select", c, y, v))


def negated(trace: Any, mask: Value) -> Value:
    vars, (m,) = trace.aligned([mask], mask.shape)
    return trace.define("kept", mask.shape, torch.bool, vars, call("not", m), pattern=mask.absent, absent=mask.pattern)


FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


@op("to", "_to_copy", "type_as", "convert_element_type", view=True)
def cast(trace, shapes, x, *_, **__):
    """Between floats the value stays: programs compute in float64 and round where they end."""
    if shapes.dtype == x.dtype or shapes.dtype in FLOATS:
        return dataclasses.replace(x, dtype=shapes.dtype)
    if shapes.dtype == torch.bool:
        return pointwise(trace, shapes, "nonzero", [x], lambda v: call("ne", v, 0), pattern_of(x))
    if x.dtype == torch.bool or x.dtype not in FLOATS:
        return dataclasses.replace(x, dtype=shapes.dtype)
    raise trace.refuse(f"a cast from {x.dtype} to {shapes.dtype} rounds", "cast outside the model")


@op("dropout", "feature_dropout", "alpha_dropout", view=True)
def dropout(trace, shapes, x, p, train):
    if train and p > 0:
        raise trace.refuse(
            "dropout in training is random", "call model.eval() first: sparse programs are deterministic"
        )
    return x


@op("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full")
def filled_like(trace, shapes, x, *args, **_):
    number = {"zeros": 0.0, "ones": 1.0}.get(trace.now.replace("_like", "").replace("new_", ""))
    if number is None:
        number = float(args[-1])
    return Value(tuple(shapes.shape), shapes.dtype, [[] for _ in shapes.shape], None, number)
