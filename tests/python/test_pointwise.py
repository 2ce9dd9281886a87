"""Elementwise ops against eager: every dtype, shapes and strides of every kind, NaN and infinities."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from checks import DTYPES, FLOATS, compare, layouts, numbers

UNARY = {
    name: getattr(torch, name)
    for name in (
        "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh "
        "acosh atanh erf erfc sigmoid neg abs sign floor ceil round trunc frac square isnan isinf isfinite isposinf "
        "isneginf logical_not bitwise_not nan_to_num sinc logit deg2rad positive sgn"
    ).split()
}
SCALARS = {
    "add": lambda x: (x + 3, x + 1.5, 2 - x, torch.add(x, 2, alpha=3), torch.rsub(x, 2, alpha=2)),
    "mul": lambda x: (x * 3, x * 0.1, x * True, x / 3, 1 / x),
    "pow": lambda x: [x**p for p in (0, 1, 2, 3, 0.5, 1.5)],
    "negative pow": lambda x: [x**p for p in (-1, -2, -0.5)],
    "base": lambda x: (2**x, 0.5**x, 1**x),
    "compare": lambda x: (x < 1, x <= 0.5, x == 1, x != 0.1, x > -1, x >= 2.5),
    "clamp": lambda x: (x.clamp(-1, 2), x.clamp(min=0), x.clamp(max=1.5), x.clip(2, 1)),
    "rounding": lambda x: (x // 2, x % 3, torch.fmod(x, 3), torch.div(x, 2, rounding_mode="trunc"), x % -2),
    "bits": lambda x: (x & 3, x | 4, x ^ 1),
    "where": lambda x: (torch.where(x > 0, x, 0), torch.where(x > 0, 1.5, x)),
    "casts": lambda x: (x.bool(), x.double(), x.half(), x.bfloat16(), x.float()),
}
BINARY = {
    "add": lambda x, y: (x + y, torch.add(x, y, alpha=2), x * y),
    "sub": lambda x, y: (x - y, torch.rsub(x, y)),
    "div": lambda x, y: x / y,
    "extremes": lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y)),
    "compare": lambda x, y: (x < y, x <= y, x == y, x != y, x > y, x >= y),
    "logic": lambda x, y: (torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, y)),
    "bits": lambda x, y: (x & y, x | y, x ^ y),
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "logaddexp": lambda x, y: (torch.logaddexp(x, y), torch.logaddexp2(x, y)),
    "xlogy": lambda x, y: (torch.xlogy(x, y), torch.special.xlog1py(x, y), torch.xlogy(2, y), torch.xlogy(x, 3)),
    "where": lambda x, y: torch.where(x > y, x, y),
    "lerp": lambda x, y: (torch.lerp(x, y, 0.25), torch.lerp(x, y, 0.75), torch.lerp(x, y, x)),
    "addcmul": lambda x, y: (torch.addcmul(x, y, x, value=2), torch.addcdiv(x, y, y)),
    "heaviside": torch.heaviside,
    "clamp": lambda x, y: (x.clamp(y, y + 1), x.clamp(min=y)),
    "copysign": lambda x, y: x * y.sign(),
    "losses": lambda x, y: (F.mse_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y), F.l1_loss(x, y)),
}
ACTIVATIONS = {
    "relu": F.relu, "relu6": F.relu6, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu, "mish": F.mish, "elu": F.elu, "selu": F.selu, "celu": lambda x: F.celu(x, 1.5),
    "softplus": lambda x: (F.softplus(x), F.softplus(x, 2.0, 1.0)), "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh, "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "logsigmoid": F.logsigmoid, "hardshrink": F.hardshrink, "softshrink": F.softshrink, "softsign": F.softsign,
    "tanhshrink": F.tanhshrink, "threshold": lambda x: F.threshold(x, 0.1, 20), "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}  # fmt: skip
SMOOTH = {n: UNARY[n] for n in "exp expm1 sin cos tanh asinh atan erf sigmoid square sinc neg".split()}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_functions_of_one_tensor(dtype: torch.dtype) -> None:
    found = layouts(dtype)
    for layout in found if dtype == torch.float32 else ("dense",):
        compare(UNARY, [found[layout]])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_and_numbers(dtype: torch.dtype) -> None:
    for layout in ("dense", "scalar", "empty") if dtype == torch.float32 else ("dense",):
        compare(SCALARS, [layouts(dtype)[layout]], allow=["clamp"] if dtype == torch.uint8 else ())  # by -1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_functions_of_two_tensors(dtype: torch.dtype) -> None:
    x, y = layouts(dtype, 1), layouts(dtype, 2)
    compare(BINARY, [x["dense"], y["dense"]])
    if dtype == torch.float32:
        mixed = {n: f for n, f in BINARY.items() if n != "xlogy"}  # torch's own meta function has other strides
        compare(mixed, [x["transposed"], y["dense"]])
        compare(BINARY, [x["dense"], y["dense"][:1]])
        compare(BINARY, [x["scalar"], y["scalar"]])
        compare(BINARY, [x["empty"], y["empty"]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8], ids=str)
def test_division_with_rounding(dtype: torch.dtype) -> None:
    """Of operands that are exact in the dtype: halves are only as right as their rounding lets them be."""
    x, y = numbers(7, 33, dtype=dtype, seed=1), numbers(7, 33, dtype=dtype, seed=2)
    y = torch.where(y == 0, 3, y)
    compare(
        {
            "floor": lambda x, y: x // y,
            "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
            "remainder": lambda x, y: (x % y, torch.fmod(x, y)),
        },
        [x, y],
    )


@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_promotion(first: torch.dtype) -> None:
    """Of each dtype with every other, as tensors with axes and without."""
    x = numbers(9, dtype=first)
    others = [numbers(*shape, dtype=d, seed=3) for d in DTYPES for shape in ((9,), ())]
    functions = {f"{o.dtype}{list(o.shape)}": (lambda x, *ys, i=i: (x * ys[i], x > ys[i], torch.where(x > 0, x, ys[i])))
                 for i, o in enumerate(others)}  # fmt: skip
    compare(functions, [x, *others])


def test_numbers_are_compared_as_halves() -> None:
    """0.1 is not a half, but is compared as the half next to it."""
    for dtype in (torch.float16, torch.bfloat16):
        compare(lambda x: (x == 0.1, x < 0.1, x >= 0.1), [torch.tensor([0.1, 0.2, 0.3], dtype=dtype)])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_halves_and_one_integer(dtype: torch.dtype) -> None:
    """Behind `*` and `/` it is not rounded, and may be larger than a half can be."""

    def scaled(x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, ...]:
        quotients = x / n, x // n, torch.div(x, n, rounding_mode="trunc"), n / x
        return *quotients, x * n, n * x, x + n, x.clone().mul_(n)

    x = numbers(40, dtype=dtype)
    for n in (torch.tensor(2051), torch.tensor(100003, dtype=torch.int32), torch.tensor(2**40 + 7)):
        for ours, eager in zip(torch.compile(scaled, backend="tokamak")(x, n), scaled(x, n), strict=True):
            assert torch.equal(ours.nan_to_num(), eager.nan_to_num())


def test_integers_wrap() -> None:
    x = torch.tensor([2**31 - 1, -(2**31), 65537], dtype=torch.int32)
    compare(lambda x: (x + 1, x * x, -x, x.abs(), x << 3, x - 2), [x])
    compare(lambda x: (x + 200, x * 3, x - 9), [torch.tensor([0, 100, 255], dtype=torch.uint8)])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8], ids=str)
def test_shifts(dtype: torch.dtype) -> None:
    x, y = numbers(33, dtype=dtype), numbers(33, dtype=torch.uint8).to(dtype)
    compare(lambda x, y: (x << y, x >> y, 1 << y, x << 1, x >> 1), [x, y])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_activations(dtype: torch.dtype) -> None:
    special = {n: f for n, f in ACTIVATIONS.items() if n != "gelu"}  # of which eager gives NaN at infinity
    compare(special, [numbers(7, 33, dtype=dtype, special=True) * 2])
    compare(ACTIVATIONS, [numbers(7, 33, dtype=dtype)])
    compare(ACTIVATIONS, [numbers(dtype=dtype)])
    compare(ACTIVATIONS, [numbers(0, 3, dtype=dtype)])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gradients(dtype: torch.dtype) -> None:
    """One at a time where they have kinks: sums of gradients hide one another's errors."""
    x = numbers(5, 7, dtype=dtype)
    compare(SMOOTH, [x], grad=True)
    for function in ACTIVATIONS.values() if dtype == torch.float32 else (F.gelu, F.silu, torch.tanh, F.softplus):
        compare(function, [x], grad=True)


@pytest.mark.parametrize("name", ["div", "hypot", "logaddexp", "lerp", "addcmul", "losses", "where"])
def test_gradients_of_two_tensors(name: str) -> None:
    compare(BINARY[name], [numbers(5, 7, seed=1).abs() + 0.1, numbers(5, 7, seed=2)], grad=True)


def test_gradients_at_kinks() -> None:
    x = torch.tensor([-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0])
    for name in "relu relu6 hardswish hardsigmoid hardtanh leaky_relu hardshrink softshrink elu threshold".split():
        compare(ACTIVATIONS[name], [x], grad=True)


def test_round_to_decimals() -> None:
    x = torch.tensor([0.25, 0.35, -0.15, 12, 25, -35, 1e-3])
    compare(lambda x: (x.round(decimals=1), x.round(decimals=-1), x.round(decimals=3)), [x])


def test_fills() -> None:
    def fills(x: torch.Tensor) -> tuple:
        return (
            torch.zeros_like(x), torch.ones(3, 5), torch.full((2,), math.pi), torch.arange(7), torch.arange(2, 9, 3),
            torch.arange(0.5, 3, 0.25), torch.full_like(x, 2), torch.arange(3, dtype=torch.float16), x.new_zeros(2, 2),
            torch.eye(3, 5), torch.linspace(0, 1, 7), x.fill_(3),
        )  # fmt: skip

    compare(fills, [numbers(5, 7)])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_halves_lose_no_more_than_eager(dtype: torch.dtype) -> None:
    """A chain of ops in half precision is no further from float64 than eager's, on the whole."""

    def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.gelu(x * y + x) * torch.sigmoid(y) - F.silu(x).tanh()

    x, y = numbers(64, 64, dtype=dtype, seed=1), numbers(64, 64, dtype=dtype, seed=2)
    exact = chain(x.double(), y.double())
    torch._dynamo.reset()
    ours = (torch.compile(chain, backend="tokamak")(x, y) - exact).abs().mean()
    assert ours <= (chain(x, y) - exact).abs().mean()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_eager_precision_rounds_after_every_op(dtype: torch.dtype) -> None:
    """Bit for bit, though everything is fused."""

    def chain(x: torch.Tensor, y: torch.Tensor) -> tuple:
        return F.gelu(x * y + x) * torch.sigmoid(y) - F.silu(x).tanh(), (x * 3).softmax(-1) * y, (x * y).sum(0) * 0.5

    x, y = numbers(64, 64, dtype=dtype, seed=1), numbers(64, 64, dtype=dtype, seed=2)
    ours = torch.compile(chain, backend="tokamak", options={"precision": "eager"})(x, y)
    for a, e in zip(ours, chain(x, y), strict=True):
        assert (a == e).double().mean() > 0.999
        torch.testing.assert_close(a, e)


@pytest.mark.parametrize("y", [1 / 3, -2 / 3, 0.1, 2.2])
def test_powers_between_floats(y: float) -> None:
    """An exponent is not rounded to f32: that of 1e30 ** (1/3) would show as twelve units of the last place."""
    x = torch.tensor([1e30, 1e-30, 1e38, 1e-44, 0.7, 1.0, 0.0, -0.0, -2.0, math.inf, -math.inf, math.nan] * 4)
    ours, exact = torch.compile(lambda x: x**y, backend="tokamak")(x), x.double() ** y
    torch.testing.assert_close(ours, exact.float(), rtol=1.2e-7, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_numbers_among_halves_are_rounded_where_eager_rounds_them(dtype):
    x, number, zero_d = torch.randn(257).to(dtype), 0.3, torch.tensor(0.3)
    for function in (
        lambda x: x + number, lambda x: x - number, lambda x: number - x, lambda x: x * number, lambda x: x / number,
        lambda x: torch.fmod(x, number), lambda x: torch.remainder(x, number), lambda x: x.abs() ** number,
        lambda x: torch.add(x, x, alpha=number), lambda x: torch.sub(x, 1, alpha=number), lambda x: x - zero_d,
        lambda x: x * zero_d, lambda x: torch.atan2(x, zero_d), lambda x: torch.relu(x - number), lambda x: x // number,
    ):  # fmt: skip
        torch._dynamo.reset()
        assert torch.equal(torch.compile(function, backend="tokamak")(x), function(x))


def test_sizes_and_other_halves_among_halves_are_rounded_as_in_eager():
    x, other = torch.full((257, 2), -1.0, dtype=torch.bfloat16), torch.tensor(1.0009765625, dtype=torch.float16)
    for function in (
        lambda x: torch.fmod(x * 256, x.shape[0]), lambda x: x * 256 + x.shape[0], lambda x: x ** x.shape[0],
        lambda x: x.shape[0] - x, lambda x: torch.add(x, x, alpha=x.shape[0]), lambda x: x * x.shape[0],
        lambda x: x**other, lambda x: torch.fmod(x, other), lambda x: x - other,
    ):  # fmt: skip
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend="tokamak", dynamic=dynamic)
            torch.testing.assert_close(compiled(x), function(x), rtol=0, atol=0, equal_nan=True)


def test_what_zero_d_tensors_and_numbers_are_first_rounded_to():
    """Where torch promotes to the dtype of the others: a tiny number is then false, and nothing to divide."""
    for dtype, one in ((torch.float16, 1e-8), (torch.float32, 1e-60), (torch.int8, 256)):
        x, y = torch.tensor([0, 1, 3], dtype=dtype), torch.tensor(one, dtype=torch.float64 if one < 1 else torch.int64)
        compare(BINARY["logic"], [x, y])
    x, y = torch.tensor([0.0, 1.0, math.inf], dtype=torch.float16), torch.tensor(1e-8)
    for f in (lambda x, y: y / x, lambda x, y: y // x, lambda x, y: torch.div(y, x, rounding_mode="trunc"),
              lambda x, y: y * x, lambda x, y: torch.logit(x, 1e-5), lambda x, y: torch.logit(x, 0.1)):  # fmt: skip
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(f, backend="tokamak")(x, y), f(x, y), equal_nan=True)
    compare(lambda x: torch.add(x, 1e39, alpha=0.3), [torch.ones(3)])


def test_a_huber_loss_has_the_dtype_of_its_input():
    x, y = numbers(5, 7), numbers(5, 7, dtype=torch.float64, seed=1)
    for reduction in ("none", "mean"):
        compare(lambda x, y, r=reduction: F.huber_loss(x, y, reduction=r), [x, y])
        compare(lambda x, y, r=reduction: F.huber_loss(y, x, reduction=r), [x, y])
