"""Integers divided by zero raise what eager raises; everything else divides as in eager."""

from __future__ import annotations

import operator

import pytest
import torch
from checks import compare, numbers
from tokamak.backend import recording
from torch.utils.checkpoint import checkpoint

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
DIVISIONS = {
    "floordiv": operator.floordiv,
    "remainder": operator.mod,
    "fmod": torch.fmod,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "floor_divide_": lambda x, y: x.clone().floor_divide_(y),
    "remainder_": lambda x, y: x.clone().remainder_(y),
}


def raises(function, *args, **kwargs) -> bool:
    try:
        torch.compile(function, backend="tokamak", **kwargs)(*args)
    except RuntimeError as error:
        assert str(error) == "ZeroDivisionError"
        return True
    return False


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_zero_raises(dtype: torch.dtype) -> None:
    x, y = numbers(3, 40, dtype=dtype), numbers(40, dtype=dtype, seed=1)
    y[y == 0] = 3
    compare(DIVISIONS, [x, y])
    compare({name: lambda x, y, f=f: (f(x, y[:1]), f(x, 7)) for name, f in DIVISIONS.items()}, [x, y])
    y[17] = 0
    for divide in DIVISIONS.values():
        assert raises(divide, x, y)


@pytest.mark.parametrize("name", DIVISIONS)
def test_one_zero_for_all(name: str) -> None:
    divide, x = DIVISIONS[name], torch.arange(12)
    assert raises(divide, x, torch.tensor(0))
    assert raises(lambda x: divide(x, 0), x)


def test_a_number_divided() -> None:
    y = torch.tensor([3, 1, 2])
    compare({"floordiv": lambda y: 7 // y, "remainder": lambda y: 7 % y}, [y])
    y[1] = 0
    assert raises(lambda y: 7 // y, y)
    assert raises(lambda y: torch.remainder(-7, y), y)


@pytest.mark.parametrize("dynamic", [False, True])
def test_nothing_is_divided(dynamic: bool) -> None:
    x, zero = torch.ones(4, 3, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    divide = lambda x, y, n: (x[n:] // y, x[:, n:] % 5)  # noqa: E731
    compiled = torch.compile(divide, backend="tokamak", dynamic=dynamic)
    for n in (3, 2):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            compiled(x, zero, n)
    assert compiled(x, zero, 4)[0].shape == (0, 3)
    assert not raises(lambda x: x // 0, x[:0])


def test_the_smallest_integer_over_minus_one() -> None:
    for dtype in INTEGERS[1:]:
        low = torch.iinfo(dtype).min
        x, y = torch.full((40,), low, dtype=dtype), torch.full((40,), -1, dtype=dtype)
        for name, divide in DIVISIONS.items():  # eager itself stops the process for wide ones
            out = torch.compile(divide, backend="tokamak")(x, y)
            assert out.eq(0 if name in ("remainder", "remainder_", "fmod") else low).all(), (dtype, name)


def test_what_nobody_reads() -> None:
    def unread(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        (x // y).add(1)
        return w * 2

    x, good, bad = torch.arange(4), torch.ones(4, dtype=torch.int64), torch.tensor([1, 1, 0, 1])
    for w in (torch.ones(3), torch.ones(3, requires_grad=True)):
        assert not raises(unread, x, good, w)
        assert raises(unread, x, bad, w)
        assert not raises(unread, x[:0], bad[:0], w)


def in_place(x: torch.Tensor, y: torch.Tensor) -> None:
    x = x.clone()
    x //= y


def of_itself(x: torch.Tensor, y: torch.Tensor) -> None:
    y = y.clone()
    y.remainder_(y)


UNREAD = {
    "in place": in_place,
    "of itself": of_itself,
    "method": lambda x, y: x.clone().div_(y, rounding_mode="floor"),
    "keyword": lambda x, y: torch.floor_divide(x, other=y),
    "overload": lambda x, y: torch.ops.aten.remainder.Tensor(x, y),
    "shape": lambda x, y: (x % y).new_zeros(3),
}


@pytest.mark.parametrize("name", UNREAD)
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_nobody_reads_in_other_words(name: str, dynamic: bool) -> None:
    def unread(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return x + 1, UNREAD[name](x, y) if name == "shape" else (UNREAD[name](x, y), None)[1]

    x = torch.arange(4)
    assert not raises(unread, x, torch.ones(4, dtype=torch.int64), dynamic=dynamic)
    assert raises(unread, x, torch.tensor([1, 1, 0, 1]), dynamic=dynamic)


def test_what_nobody_reads_in_a_checkpoint() -> None:
    def unread(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda x, y, w: (x // y, w * 2)[1], x, y, w, use_reentrant=False)

    for w in (torch.ones(3), torch.ones(3, requires_grad=True)):
        assert not raises(unread, torch.arange(4), torch.ones(4, dtype=torch.int64), w)
        assert raises(unread, torch.arange(4), torch.tensor([1, 1, 0, 1]), w)


def test_nobody_reads_a_division_by_a_zero_that_is_written() -> None:
    assert raises(lambda x: (x // 0, x + 1)[1], torch.arange(4))
    assert not raises(lambda x: (x // 0, x + 1)[1], torch.arange(0))


def test_integers_have_no_negative_powers() -> None:
    with pytest.raises(RuntimeError, match="negative integer powers"):
        torch.compile(lambda x: x**-1 + 1, backend="tokamak")(torch.arange(1, 4))


def test_floats_and_true_quotients_do_not_raise() -> None:
    x, y = torch.tensor([-1, 0, 7]), torch.zeros(3, dtype=torch.int64)
    compare(
        {"true": lambda x, y: x / y, "floor": lambda x, y: x.double() // y, "mod": lambda x, y: x % y.float()}, [x, y]
    )


def test_known_divisors_are_not_checked() -> None:
    def divide(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x // 3, x % torch.full_like(x, 5), x // y.clamp(min=1)

    with recording() as graphs:
        torch.compile(divide, backend="tokamak")(torch.arange(4), torch.arange(4))
    kernels = [k["name"] for g in graphs for s in g.json()["segments"] for k in s["kernels"]]
    assert not any("reduce" in name for name in kernels), kernels
