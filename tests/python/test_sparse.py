"""`tokamak.sparse.compile`: sparse models against the dense meaning of what eager computes."""

from __future__ import annotations

import pytest
import tokamak
import torch
from tokamak import sparse
from torch import nn

LAYOUTS = {
    "coo": lambda t: t.to_sparse(),
    "csr": lambda t: t.to_sparse_csr(),
    "csc": lambda t: t.to_sparse_csc(),
    "bsr": lambda t: t.to_sparse_bsr((2, 2)),
    "bsc": lambda t: t.to_sparse_bsc((2, 2)),
}
SCHEDULES = ["auto", "unfused", "layers", "full"]


def scattered(*shape: int, density: float = 0.3, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype) * (torch.rand(*shape) < density)


class GraphConvolution(nn.Module):
    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, hidden))
        self.bias = nn.Parameter(torch.randn(hidden))

    def forward(self, A: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.sparse.mm(A, x @ self.weight) + self.bias)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_graph_convolution(layout: str, schedule: str) -> None:
    model = GraphConvolution(6, 4)
    A, x = scattered(10, 10), torch.randn(10, 6)
    stored = LAYOUTS[layout](A)
    fast = sparse.compile(model, stored, x, schedule=schedule)
    with torch.no_grad():
        expected = torch.relu(A @ (x @ model.weight) + model.bias)
        model.bias += 1  # weights are read at every call
        torch.testing.assert_close(fast(stored, x), torch.relu(A @ (x @ model.weight) + model.bias))
        model.bias -= 1
    got = fast(stored, x)
    assert not got.requires_grad
    torch.testing.assert_close(got, expected)
    if schedule == "full":
        assert len(fast.regions) == 1
    if schedule == "unfused":
        assert len(fast.regions) == 4


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("blocks", ["bcsr(3, 4)", "bcsr(16, 7)", "bcsr(1, 9)"])
def test_blocks_need_not_divide(blocks: str, schedule: str) -> None:
    class Scaled(nn.Module):
        def forward(self, A, x):
            return torch.softmax(A @ x, 0) / A.amax(1, keepdim=True).exp()

    A, x = scattered(10, 10), torch.randn(10, 6)
    fast = sparse.compile(Scaled(), A, x, formats={"A": blocks}, schedule=schedule)
    torch.testing.assert_close(fast(A, x), Scaled()(A, x))
    assert blocks in fast.program


def test_the_program_is_text() -> None:
    A, x = scattered(10, 10).to_sparse_csr(), torch.randn(10, 6)
    fast = sparse.compile(GraphConvolution(6, 4), A, x)
    assert "input A[F, N]: csr" in fast.program
    assert "mm[i, j] = sum(k: A[i, k] * matmul[k, j])" in fast.program
    assert "out[i, j] = relu(add[i, j])" in fast.program
    assert "schedule auto" in fast.schedule
    assert "region" in fast.explain(brief=True)


def test_cycles() -> None:
    A, x = scattered(10, 10).to_sparse_csr(), torch.randn(10, 6)
    cycles = {}
    for schedule in ("unfused", "auto"):
        fast = sparse.compile(GraphConvolution(6, 4), A, x, schedule=schedule)
        for profile in ("comal", "comal-hbm", "hw"):
            report = fast.simulate(A, x, profile=profile)
            assert len(report.regions) == len(fast.regions)
            assert report.cycles == sum(region.cycles for region in report.regions) > 0
            assert all(region.tokens > 0 for region in report.regions)
            cycles[schedule, profile] = report.cycles
        assert cycles[schedule, "comal"] <= cycles[schedule, "comal-hbm"]
    assert all(cycles["auto", profile] < cycles["unfused", profile] for profile in ("comal", "comal-hbm", "hw"))
    with pytest.raises(tokamak.Error, match="T0801"):
        fast.simulate(A, x, profile="fast")
