"""Matrix products against eager."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from checks import compare

LAYOUTS = {
    "linear": lambda x, w: F.linear(x, w),
    "plain": lambda x, w: x @ w.view(w.shape[1], w.shape[0]),
    "gradient": lambda x, w: x.view(x.shape[1], x.shape[0]).t() @ w.t(),
}


@pytest.mark.parametrize("inner", [257, 1000, 3072])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("freeze", [False, True])
def test_long_sums_are_as_exact_as_eagers(layout: str, inner: int, freeze: bool) -> None:
    """All of a result's products added one after another would be up to twice as far from float64."""
    torch.manual_seed(0)
    function, x, weights = LAYOUTS[layout], torch.randn(33, inner), torch.randn(65, inner)

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(weights, requires_grad=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x, self.weights)

    exact = function(x.double(), weights.double())
    ours = torch.compile(Layer(), backend="tokamak", options={"freeze": freeze})(x)
    assert (ours - exact).norm() <= 1.1 * (function(x, weights) - exact).norm()


def test_one_row_against_frozen_weights_is_as_exact_as_eagers() -> None:
    """Few weights too, as of a classifier: the sums of a dot product, by lanes, are shorter than those of a panel."""
    torch.manual_seed(0)
    layers, x = [torch.nn.Linear(256, 12).requires_grad_(False) for _ in range(8)], torch.randn(1, 256)
    run = torch.compile(
        lambda x: torch.cat([layer(x) for layer in layers]), backend="tokamak", options={"freeze": True}
    )
    eager = torch.cat([layer(x) for layer in layers])
    exact = torch.cat([layer.double()(x.double()) for layer in (copy.deepcopy(layer) for layer in layers)])
    assert (run(x) - exact).norm() <= 1.1 * (eager - exact).norm()


def test_batched_products_are_as_exact_as_eagers() -> None:
    """Of sums longer than those eager adds in one go: the weights of attention times the values."""
    torch.manual_seed(0)
    for x, y in (
        (torch.randn(12, 50, 300), torch.randn(12, 300, 64)),
        (torch.randn(3, 7, 800), torch.randn(3, 800, 9)),
    ):
        ours = torch.compile(torch.matmul, backend="tokamak", dynamic=False)(x, y)
        exact = x.double() @ y.double()
        assert (ours - exact).norm() <= 1.1 * (x @ y - exact).norm()


def test_operands_that_count_for_nothing_are_not_looked_at() -> None:
    bias, a, b = torch.ones(3, 2), torch.full((3, 4), float("nan")), torch.ones(4, 2)
    compare(lambda bias, a, b: torch.addmm(bias, a, b, alpha=0, beta=3), [bias, a, b])
    compare(lambda bias, a, b: torch.addmm(bias, a, b, beta=0), [a[:, :2], bias, b[:2]])
