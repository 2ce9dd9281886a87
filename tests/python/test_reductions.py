"""Folds and scans against eager: every dtype, all axes, empty, 0-d and strided tensors, NaN and ties."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from checks import DTYPES, FLOATS, compare, numbers

norm = torch.linalg.vector_norm
FOLDS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": torch.amax,
    "amin": torch.amin,
    "any": torch.any,
    "all": torch.all,
    "var": torch.var,
    "std": lambda x, d: torch.std(x, d, correction=0),
    "var_mean": torch.var_mean,
    "logsumexp": torch.logsumexp,
    "norm 1": lambda x, d: norm(x, 1, d),
    "norm 2": lambda x, d: norm(x, 2, d),
    "norm 3": lambda x, d: norm(x, 3, d),
    "norm inf": lambda x, d: norm(x, math.inf, d),
    "norm 0": lambda x, d: norm(x, 0, d),
    "nansum": torch.nansum,
    "count_nonzero": torch.count_nonzero,
}
ONE_AXIS = {
    "prod": torch.prod,
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "max": torch.max,
    "min": torch.min,
    "aminmax": lambda x, d: torch.aminmax(x, dim=d),
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "cummax": torch.cummax,
    "cummin": torch.cummin,
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
}
WHOLE = {
    "sum": torch.sum, "mean": torch.mean, "prod": torch.prod, "max": torch.max, "min": torch.min, "any": torch.any,
    "all": torch.all, "argmax": torch.argmax, "argmin": torch.argmin, "var": torch.var, "std": torch.std,
    "norm": norm, "count": torch.count_nonzero,
}  # fmt: skip


def at(functions: dict, *axes) -> dict:
    return {f"{n} over {d}": (lambda x, f=f, d=d: f(x, d)) for n, f in functions.items() for d in axes}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_folds(dtype: torch.dtype) -> None:
    compare(at(FOLDS, 0, (1,), (0, 2)), [numbers(5, 7, 9, dtype=dtype)])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_folds_and_scans_of_one_axis(dtype: torch.dtype) -> None:
    compare(at(ONE_AXIS, 0, -1), [numbers(7, 9, dtype=dtype)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
def test_folds_of_everything(dtype: torch.dtype) -> None:
    compare(WHOLE, [numbers(5, 33, dtype=dtype)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
def test_zero_d(dtype: torch.dtype) -> None:
    compare({**at(FOLDS, 0), **at(ONE_AXIS, -1), **WHOLE}, [numbers(dtype=dtype)])


def test_axes_of_extent_one_and_none() -> None:
    compare({**at(FOLDS, 1), **at(ONE_AXIS, 1)}, [numbers(5, 1, 3)])
    compare({**at(FOLDS, 1), **at(ONE_AXIS, 1)}, [numbers(0, 4)])
    empty = {n: f for n, f in FOLDS.items() if n in "sum mean any all var std norm 1 norm 2 nansum count_nonzero"}
    compare({**at(empty, 0), "prod": lambda x: x.prod(0), "cumsum": lambda x: x.cumsum(0)}, [numbers(0, 4)])


def test_strided() -> None:
    some = {n: FOLDS[n] for n in ("sum", "amax", "var")}
    compare(at(some, 0, 1, (0, 1)), [numbers(33, 7).t()])
    compare(at(some, 0, 1, (0, 1)), [numbers(9, 66)[::2, 3::4]])
    compare(at(some, 0, 1, (0, 1)), [numbers(1, 7).expand(5, 7)])
    compare(at({"cumsum": torch.cumsum, "softmax": torch.softmax}, 0, 1), [numbers(33, 7).t()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_nan_infinities_and_ties(dtype: torch.dtype) -> None:
    n, i = math.nan, math.inf
    x = torch.tensor([[1, 3, 3, 0], [n, 2, n, 1], [i, 1, i, 2], [-i] * 4, [i, -i, 2, 3], [2] * 4], dtype=dtype)
    folds = {n: f for n, f in FOLDS.items() if n != "var_mean"}  # whose mean of an infinity eager calls NaN
    compare({**at(folds, 1), **at(ONE_AXIS, 0, 1)}, [x])


def test_corrections() -> None:
    x = numbers(5, 7)
    compare(lambda x: [x.var(1, correction=k) for k in (0, 1, 2, 0.5, 7, 9)] + [x.var((0, 1), keepdim=True)], [x])


def test_dtypes_asked_for() -> None:
    x, k = numbers(5, 33, dtype=torch.float16), numbers(5, 33, dtype=torch.int32)
    compare(lambda x: (x.sum(1, dtype=torch.float64), x.mean(0, dtype=torch.float32), x.softmax(1, torch.float32)), [x])
    compare(lambda k: (k.sum(1, dtype=torch.int32), k.cumsum(0, dtype=torch.float32), k.prod(1), k.sum(0)), [k])


def test_long_sums_keep_their_digits() -> None:
    """Of halves in f32, of f32 in parts: a running sum in the dtype itself loses most digits."""
    compare(lambda x: (x.sum(), x.mean(), x.sum(0)), [numbers(100_003).abs()])
    compare(lambda x: (x.sum(), x.mean(), x.sum(0)), [numbers(20_011, 3, dtype=torch.bfloat16).abs()])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_softmax(dtype: torch.dtype) -> None:
    x = numbers(5, 17, dtype=dtype)
    both = at({"softmax": torch.softmax, "log_softmax": torch.log_softmax}, 0, -1)
    compare(both, [x * 100])
    compare(both, [x], grad=True)


@pytest.mark.parametrize(
    "name", ["sum", "mean", "amax", "var", "std", "logsumexp", "norm 1", "norm 2", "norm 3", "norm inf"]
)
def test_gradients(name: str) -> None:
    compare(at({name: FOLDS[name]}, 0, (0, 2)), [numbers(3, 5, 7)], grad=True)


def test_gradients_of_one_axis() -> None:
    some = {n: ONE_AXIS[n] for n in ("prod", "cumsum", "cumprod", "max", "min", "cummax")}
    compare(at(some, 1), [numbers(5, 7)], grad=True)


def test_cross_entropy() -> None:
    x, target, weight = numbers(7, 9), torch.arange(7) % 5, numbers(9, seed=1).abs()

    def losses(x: torch.Tensor, t: torch.Tensor, w: torch.Tensor) -> tuple:
        return (
            F.cross_entropy(x, t), F.cross_entropy(x, t, w.detach(), ignore_index=2, reduction="sum"),
            F.cross_entropy(x, t, reduction="none", label_smoothing=0.1), F.nll_loss(x.log_softmax(1), t),
        )  # fmt: skip

    compare(losses, [x, target, weight], grad=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_symbolic_sizes(dtype: torch.dtype) -> None:
    """Sizes among the operands: counts of elements, of a kernel that serves every size."""
    x = numbers(5, 7, dtype=dtype)
    compare(lambda x: (x.mean(), x.var(0), F.mse_loss(x, x * 2), x.softmax(1)), [x], grad=True, dynamic=True)
    compare(lambda x: (x * x.shape[0], x / x.shape[1] ** 0.5, x < x.shape[1] / 3, x + len(x)), [x], dynamic=True)


@pytest.mark.parametrize("rows", [63, 129, 1000])
def test_sums_of_columns_are_as_exact_as_eagers(rows: int) -> None:
    """All rows added one after another would be up to twice as far from float64."""
    torch.manual_seed(0)
    x = torch.randn(rows, 257)
    exact, ours = x.double().sum(0), torch.compile(lambda x: x.sum(0), backend="tokamak")(x)
    assert (ours - exact).norm() <= 1.1 * (x.sum(0) - exact).norm()


@pytest.mark.parametrize(
    "function, shape",
    [
        (lambda x: x.cumsum(-1), (40, 4095)),
        (lambda x: x.cumsum(0), (4095, 33)),
        (lambda x: (1 + x / 100).cumprod(-1), (40, 409)),
        (lambda x: x.sum(0), (300_003, 3)),
        (lambda x: (x.abs() + 1).mean(0), (100_065, 33)),
        (lambda x: x.var(0), (300_003, 3)),
    ],
)
def test_long_sums_are_as_exact_as_eagers(function: Callable, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    ours, eager = torch.compile(function, backend="tokamak", dynamic=False)(x), function(x)
    exact = function(x.double())
    assert (ours - exact).norm() <= 1.5 * (eager - exact).norm()


@pytest.mark.parametrize("offset", [0, 100, 1e4])
@pytest.mark.parametrize("shape, dim", [((100, 64), 0), ((9000, 16), 0), ((64, 1000), 1), ((32, 24, 49), (0, 2))])
def test_deviations_are_as_exact_as_eagers(shape: tuple[int, ...], dim: Any, offset: float) -> None:
    """Eager's are Welford's in f64; a mean that was rounded to f32 would show in the squares of a large offset."""
    torch.manual_seed(0)
    x = torch.randn(shape) + offset
    for function in (lambda x: x.std(dim), lambda x: torch.stack(torch.var_mean(x, dim))):
        torch._dynamo.reset()
        ours, eager = torch.compile(function, backend="tokamak", dynamic=False)(x), function(x)
        exact = function(x.double())
        assert (ours - exact).norm() <= 1.1 * (eager - exact).norm()


MOVED = {
    "roll rows": lambda v: v.roll(1, 0),
    "roll columns": lambda v: v.roll(1, 1),
    "a column from elsewhere": lambda v: torch.cat([v[:, 2:3], v[:, 1:]], 1),
    "circular": lambda v: torch.nn.functional.pad(v[None, :, :-2], (1, 1), mode="circular")[0],
    "beside itself": lambda v: v + v.roll(2, 0),
}


@pytest.mark.parametrize("move", MOVED)
def test_dear_values_read_elsewhere(move: str) -> None:
    """What a sweep puts aside for the next is for readers at the same place only."""
    torch.manual_seed(0)
    for fold in (
        lambda w: w.var(1),
        lambda w: w.softmax(0),
        lambda w: w.softmax(1),
        lambda w: torch.nn.functional.layer_norm(w, w.shape[1:]),
        lambda w: (w, w.sum(0), w.sum(1)),
    ):
        for shape in ((6, 8), (37, 65)):
            x = torch.randn(shape)
            function = functools.partial(lambda fold, x: fold(MOVED[move](x.exp())), fold)
            torch._dynamo.reset()
            torch.testing.assert_close(torch.compile(function, backend="tokamak")(x), function(x), atol=1e-4, rtol=1e-4)
