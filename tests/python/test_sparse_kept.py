"""Weights and sparse arguments stay packed between calls of a compiled model, for as long as they do not change."""

from __future__ import annotations

import concurrent.futures

import torch
from tokamak import sparse
from torch import nn


class Product(nn.Module):
    def forward(self, A: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return A @ x


PRODUCT = Product()


def test_weights_are_packed_again_when_they_change() -> None:
    model = nn.Linear(6, 4)
    x = torch.randn(3, 6)
    fast = sparse.compile(model, x, formats={"weight": "csr"})
    torch.testing.assert_close(fast(x), model(x).detach())
    with torch.no_grad():
        model.weight.mul_(2)
    torch.testing.assert_close(fast(x), model(x).detach())
    model.weight.data[1, 2] = 7  # does not count as a new version of the parameter
    torch.testing.assert_close(fast(x), model(x).detach())
    model.weight = nn.Parameter(torch.randn(4, 6))
    torch.testing.assert_close(fast(x), model(x).detach())


def test_what_has_not_changed_is_not_packed_again() -> None:
    model = nn.Linear(6, 4)
    x = torch.randn(3, 6)
    fast = sparse.compile(model, x)
    kept = fast.first.kept
    weight = next(base for base in fast.first.recorded.inputs if base.shape == (4, 6))
    assert kept.entry(weight, model.weight)[1] is None
    with torch.no_grad():
        model.weight[0, 0] += 1
    assert kept.entry(weight, model.weight)[1] == [4, 6]


def test_sparse_arguments_of_equal_shape_are_told_apart() -> None:
    A = torch.eye(5).to_sparse_csr()
    B = (torch.eye(5) * 3).to_sparse_csr()
    C = torch.eye(5).roll(1, 0).to_sparse_csr()
    x = torch.randn(5)
    fast = sparse.compile(PRODUCT, A, x)
    for matrix in (A, B, C, A):
        torch.testing.assert_close(fast(matrix, x), matrix.to_dense() @ x)


def test_calls_from_many_threads_keep_their_own_inputs() -> None:
    matrices = [(torch.eye(8) * n).to_sparse_csr() for n in range(1, 5)]
    x = torch.randn(8)
    fast = sparse.compile(PRODUCT, matrices[0], x)

    def work(matrix: torch.Tensor) -> bool:
        return all(torch.allclose(fast(matrix, x), matrix.to_dense() @ x) for _ in range(50))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, matrices))
