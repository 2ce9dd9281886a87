"""What eager refuses is refused once compiled too: dtypes that an op has no kernel for, axes that are not there."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import VERSION, compare

BOOLS = {
    "abs": torch.abs, "floor": torch.floor, "round": torch.round, "relu": torch.relu, "argmax": torch.argmax,
    "threshold": lambda x: F.threshold(x, 1, 1), "less": lambda x: x - 1, "more": lambda x: 1 - x,
    "less an integer": lambda x: x - torch.ones(3, dtype=torch.int32), "power": lambda x: x**x,
    "power of a number": lambda x: True**x, "dot": lambda x: x.dot(x), "mv": lambda x: x.expand(3, 3) @ x,
    "mm": lambda x: x.expand(3, 3) @ x.expand(3, 3), "addcmul": lambda x: torch.addcmul(x, x, x),
    "heaviside": lambda x: torch.heaviside(x, torch.ones(3)),
    **({"ldexp": lambda x: torch.ldexp(torch.ones(3), x)} if VERSION > (2, 10) else {}),
}  # fmt: skip
INTEGERS = {
    "frac": torch.frac, "celu": F.celu, "lerp": lambda x: torch.lerp(x, x, 0.5),
    "huber_loss": lambda x: F.huber_loss(x, x), "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x),
    "glu": lambda x: F.glu(x[:2]),
}  # fmt: skip
UNHELD = {
    "clamp": lambda x, n: x.clamp(max=n), "hardtanh": lambda x, n: F.hardtanh(x, -1, n),
    "threshold": lambda x, n: F.threshold(x, 1, n), "full_like": torch.full_like,
    "fill": lambda x, n: x.clone().fill_(n), "new_full": lambda x, n: x.new_full((3,), n),
    "pad": lambda x, n: F.pad(x, (1, 1), value=n),
    "masked_fill": lambda x, n: x.masked_fill(x > 1, n), "scatter": lambda x, n: x.scatter(0, torch.tensor([1]), n),
    "index_fill": lambda x, n: x.index_fill(0, torch.tensor([1]), n), "alpha": lambda x, n: torch.add(x, x, alpha=n),
}  # fmt: skip
"""Functions of a tensor and a number that its dtype does not hold."""
AXES = {
    "softmax": torch.softmax, "log_softmax": torch.log_softmax, "cummax": torch.cummax, "softmin": F.softmin,
    "index_select": lambda x, dim: x.index_select(dim, torch.tensor([0])),
}  # fmt: skip


def refuses_alike(function, *args) -> None:
    with pytest.raises((RuntimeError, IndexError)) as eager:
        function(*args)
    with pytest.raises((RuntimeError, IndexError)) as ours:
        torch.compile(function, backend="tokamak")(*args)
    assert ours.type is eager.type and str(eager.value) in str(ours.value)


@pytest.mark.parametrize("name", BOOLS)
def test_no_kernel_for_bools(name: str) -> None:
    refuses_alike(BOOLS[name], torch.tensor([True, False, True]))


@pytest.mark.parametrize("name", INTEGERS)
def test_no_kernel_for_integers(name: str) -> None:
    refuses_alike(INTEGERS[name], torch.tensor([1, 2, 3]))


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16], ids=str)
@pytest.mark.parametrize("name", UNHELD)
def test_no_such_number(name: str, dtype: torch.dtype) -> None:
    x = torch.tensor([1, 2, 3], dtype=dtype)
    try:
        expected = UNHELD[name](x, 70000)
    except RuntimeError:
        refuses_alike(UNHELD[name], x, 70000)
    else:  # later versions of torch know what some of them mean
        assert torch.equal(torch.compile(UNHELD[name], backend="tokamak")(x, 70000), expected)


@pytest.mark.skipif(VERSION < (2, 11), reason="its tracing raises another error")
@pytest.mark.parametrize("name", AXES)
def test_no_such_axis(name: str) -> None:
    for x in (torch.ones(()), torch.ones(3), torch.ones(3, 4)):
        rank = max(1, x.dim())
        for dim in (rank, rank + 1, -rank - 1):
            if name != "index_select" or x.dim() == 0:  # else torch's tracing refuses it
                refuses_alike(lambda x, dim=dim: AXES[name](x, dim), x)


def test_powers_of_bools_and_numbers() -> None:
    x = torch.tensor([True, False, True])
    compare({"powers": lambda x: (x**True, x**False, x**1, x**0, x**2, x**1.0, 2**x, (x**True) & x)}, [x])


def test_ldexp_by_a_half() -> None:
    compare(lambda x, y: torch.ldexp(x, y), [torch.tensor([1, 2]), torch.tensor(3.0, dtype=torch.float16)])
