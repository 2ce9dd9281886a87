"""Values and shapes at the edge: integers that wrap, shifts beyond the width, promotion, tensors of no elements."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import compare

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
WRAPPING = {
    "sum": lambda x, y: (x + y, x - y, x * y, -x, x.abs(), x.square(), torch.add(x, y, alpha=3)),
    "bits": lambda x, y: (x & y, x | y, x ^ y, ~x),
    "shifts": lambda x, y: (x << y, x >> y, x << 3, x >> 70, x << 33, 2 << (x & 7)),
    "order": lambda x, y: (torch.maximum(x, y), x < y, x.clamp(min=y), x.clamp(3, 100), torch.where(x > y, x, y)),
    "folds": lambda x, y: (x.sum(), x.prod(), x.amax(), x.argmin(), x.cumsum(0), x.cumprod(0), x.sum(dtype=torch.int8)),
    "quotients": lambda x, y: (
        x / 3,
        x // 7,
        x % 5,
        x.float() / 2,
        torch.fmod(x, 3),
        torch.div(x, 9, rounding_mode="trunc"),
    ),
    "numbers": lambda x, y: (x + 250, x * -3, 7 - x, x + 2.5, x * True, x == 255, x**2, x + torch.tensor(1000)),
    "in place": lambda x, y: (x.clone().add_(y), x.clone().mul_(3), x.clone().bitwise_xor_(y)),
}


def extremes(dtype: torch.dtype, seed: int) -> torch.Tensor:
    info = torch.iinfo(dtype)
    some = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 7, 8, 9, 31, 64, 100, -1, -2, -7]
    values = torch.tensor([v for v in some if v >= info.min])
    picked = torch.randint(0, len(values), (37,), generator=torch.Generator().manual_seed(seed))
    return values[picked].to(dtype)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap(dtype: torch.dtype) -> None:
    compare(WRAPPING, [extremes(dtype, 0), extremes(dtype, 1)])


@pytest.mark.parametrize("other", [torch.uint8, torch.int16, torch.int64], ids=str)
def test_integers_of_two_widths(other: torch.dtype) -> None:
    compare(WRAPPING, [extremes(torch.int8, 0), extremes(other, 1)])
    compare(WRAPPING, [extremes(other, 0), extremes(torch.int32, 1)])


@pytest.mark.parametrize("source", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_floats_that_no_integer_holds(source: torch.dtype) -> None:
    inf, ends = float("inf"), [2.0**31, 2.0**31 - 1, -(2.0**31), -(2.0**31) - 1, 2.0**63, -(2.0**63), 2.0**32 + 1]
    values = [inf, -inf, float("nan"), 1e30, -1e30, 3e9, 300.0, -300.0, 255.5, -1.5, 65537.0, 0.9, *ends]
    x = torch.tensor(values * 3, dtype=torch.float64).to(source)
    converted = {str(d): lambda x, d=d: x.to(d) for d in [*INTEGERS, torch.bool]}
    compare(converted, [x])
    compare(
        {
            "twice": lambda x: (x * 2).to(torch.int32).to(torch.int8) + x.to(torch.uint8),
            "folds": lambda x: (x.sum(dtype=torch.int32), x.cumsum(0, dtype=torch.int64)),
            "copy": lambda x: torch.zeros_like(x, dtype=torch.int16).copy_(x),
            "number": lambda x: (x.clone().copy_(3.5), x.int().copy_(3.5)),
            "constant": lambda x: x.new_full((3,), inf).to(torch.int64),
            "part": lambda x: torch.zeros(60, dtype=torch.int32).slice_scatter(x, 0, 1, x.shape[0] + 1),
        },
        [x],
    )


@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.l1_loss])
@pytest.mark.parametrize("dynamic", [False, True])
def test_losses_of_nothing(loss, dynamic: bool) -> None:
    x = torch.zeros(0, 3, requires_grad=True)
    out = torch.compile(loss, backend="tokamak", dynamic=dynamic)(x, torch.zeros(0, 3))
    out.backward()
    assert out.isnan() and x.grad.shape == (0, 3)


@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_losses_at_nan_and_infinity(loss, dtype: torch.dtype) -> None:
    values = torch.tensor([torch.nan, 1.0, -0.3, 2.0, torch.inf, -torch.inf, 0.0], dtype=dtype)
    gradients = []
    for function in (torch.compile(loss, backend="tokamak"), loss):
        x = values.clone().requires_grad_()
        function(x, torch.zeros_like(values)).backward()
        gradients.append(x.grad)
    torch.testing.assert_close(*gradients, equal_nan=True)


@pytest.mark.parametrize("size", [[2, 3, 7, 1], [2, 3, 1, 1], [2, 3, 1, 4, 5]])
def test_grids_of_one_line(size: list[int]) -> None:
    compare(
        lambda t: F.affine_grid(t, size, align_corners=False),
        [torch.randn(2, len(size) - 2, len(size) - 1)],
        allow=["affine_grid"],
    )


@pytest.mark.parametrize("alpha", [float("inf"), float("nan"), 2.0])
def test_elu_of_zero(alpha: float) -> None:
    compare(lambda x: F.elu(x, alpha), [torch.tensor([-1.0, -0.0, 0.0, 1.0, float("nan")])])


def test_out_is_resized() -> None:
    def write(x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.mul(x, x, out=torch.empty(n)) for n in (0, 2)]

    x = torch.randn(3, 4)
    with pytest.warns(UserWarning, match="resized"):
        for ours, eager in zip(torch.compile(write, backend="tokamak")(x), write(x), strict=True):
            assert torch.equal(ours, eager)


def test_a_zero_keeps_its_sign() -> None:
    x = torch.tensor([torch.nan, -0.0, 0.0, torch.inf, 1.0])
    for f in (
        lambda x: x.nan_to_num(-0.0),
        lambda x: x * 1,
        lambda x: -x.abs(),
        lambda x: x.neg().nan_to_num(0.0, 1.0),
    ):
        ours, eager = torch.compile(f, backend="tokamak")(x), f(x)
        assert torch.equal(ours.nan_to_num(3).signbit(), eager.nan_to_num(3).signbit())


def test_functions_of_constants_are_those_of_values() -> None:
    """What DeBERTa rounds up to find the bucket of a position is exactly one at the last of them."""
    numbers = [3.5, 1.9, 0.3, 7.1, 511 / 256, 0.9]

    def ratios(x: torch.Tensor) -> list[torch.Tensor]:
        functions = torch.log, torch.log2, torch.sin, torch.tanh, torch.log1p, lambda y: y**0.3
        constants = [torch.tensor(n) for n in numbers]
        return [f(x[:, i]) / f(c) for f in functions for i, c in enumerate(constants)]

    for ratio in torch.compile(ratios, backend="tokamak")(torch.tensor(numbers).expand(40, 6).contiguous()):
        assert ratio.eq(1).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_equal_themselves(dtype: torch.dtype) -> None:
    """Whether a kernel computed them or read them as another stored them."""

    def compared(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        v = x * 1.1 + 0.3
        m, picked = v.amax(-1, keepdim=True), v.gather(-1, v.argmax(-1, keepdim=True))
        return (
            (v == m).sum(-1),
            (v == picked).any(-1),
            (v >= m.expand_as(v)).sum(),
            (v - m).amax(-1),
            (v > picked).sum(),
        )

    x = torch.randn(64, 133, generator=torch.Generator().manual_seed(0)).to(dtype)
    for ours, eager in zip(torch.compile(compared, backend="tokamak")(x), compared(x), strict=True):
        assert torch.equal(ours, eager)


def test_gradients_of_maxima_of_halves_are_shared_by_those_that_equal_them() -> None:
    def shifted(x: torch.Tensor) -> torch.Tensor:
        v = x * 1.1
        return (v - v.amax(-1, keepdim=True)).exp().sum(-1).log()

    x = torch.randn(4, 33, generator=torch.Generator().manual_seed(0)).bfloat16().requires_grad_()
    y = x.detach().clone().requires_grad_()
    torch.compile(shifted, backend="tokamak", options={"precision": "fp32"})(x).sum().backward()
    shifted(y).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, atol=2e-2, rtol=2e-2)
