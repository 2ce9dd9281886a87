"""What `tokamak.sparse.compile` does with odd data, and what it refuses: with a code, a place and a remedy."""

from __future__ import annotations

import pytest
import tokamak
import torch
import torch.nn.functional as F
from test_sparse import LAYOUTS, SCHEDULES, GraphConvolution, scattered
from tokamak import sparse
from torch import nn


class Function(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, *operands):
        return self.body(*operands)


def same(body, *inputs: torch.Tensor, formats: dict | None = None, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Compiled at every level and eager on dense tensors give the same."""
    model = body if isinstance(body, nn.Module) else Function(body)
    dense = [x.to_dense() if x.layout != torch.strided else x for x in inputs]
    with torch.no_grad():
        expected = model(*dense)
        for schedule in SCHEDULES:
            got = sparse.compile(model, *inputs, formats=formats, schedule=schedule)(*inputs)
            torch.testing.assert_close(got, expected, rtol=rtol, atol=atol)


def refused(code: str, body, *inputs, formats: dict | None = None, **more) -> str:
    model = body if isinstance(body, nn.Module) else Function(body)
    with pytest.raises(tokamak.Error, match=code) as caught:
        sparse.compile(model, *inputs, formats=formats, **more)(*inputs)
    text = str(caught.value)
    assert "\n  hint: " in text
    return text


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("density", [0.0, 0.05, 0.5, 1.0])
def test_densities(layout: str, density: float) -> None:
    A = LAYOUTS[layout](scattered(8, 8, density=density))
    same(lambda A, x: torch.relu(A @ x + 1), A, torch.randn(8, 4))


def test_rows_and_columns_without_entries() -> None:
    A = scattered(9, 9, density=0.6)
    A[2:4] = 0
    A[:, 7] = 0
    same(lambda A, x: torch.softmax(A @ x, 1) + A.to_dense().sum(0), A.to_sparse_csr(), torch.randn(9, 9))


def test_uncoalesced_coo_adds_up() -> None:
    at = torch.tensor([[2, 0, 2, 1], [1, 0, 1, 2]])
    A = torch.sparse_coo_tensor(at, torch.tensor([1.0, 2.0, 3.0, 4.0]), (3, 3))
    assert not A.is_coalesced()
    same(lambda A, x: A @ x, A, torch.randn(3, 2))


def test_csr_with_an_entry_twice_is_refused() -> None:
    with torch.sparse.check_sparse_tensor_invariants(False):
        A = torch.sparse_csr_tensor([0, 2, 3], [1, 1, 0], [1.0, 2.0, 3.0], (2, 2))
    assert "A: " in refused("T0902", GraphConvolution(2, 2), A, torch.randn(2, 2))


def test_csr_with_columns_in_any_order() -> None:
    with torch.sparse.check_sparse_tensor_invariants(False):
        A = torch.sparse_csr_tensor([0, 2, 3], [1, 0, 0], [1.0, 2.0, 3.0], (2, 2))
    same(lambda A, x: A @ x, A, torch.randn(2, 2))


def test_columns_outside_the_shape_are_refused() -> None:
    with torch.sparse.check_sparse_tensor_invariants(False):
        A = torch.sparse_csr_tensor([0, 1, 2], [1, 5], [1.0, 2.0], (2, 2))
    refused("T0901", GraphConvolution(2, 2), A, torch.randn(2, 2))


@pytest.mark.parametrize("sparse_one", [True, False])
def test_nan_is_refused(sparse_one: bool) -> None:
    A, x = scattered(5, 5, density=0.8), torch.randn(5, 2)
    (A if sparse_one else x)[3, 1] = float("nan")
    assert ("A" if sparse_one else "x") in refused("T0905", GraphConvolution(2, 3), A.to_sparse_csr(), x)


def test_sizes_that_do_not_fit() -> None:
    text = refused("T0914", GraphConvolution(6, 4), scattered(5, 5).to_sparse_csr(), torch.randn(7, 6))
    assert "test_sparse.py:" in text and "_sparse_mm in GraphConvolution" in text


def test_other_sizes_are_compiled_anew() -> None:
    model = GraphConvolution(3, 2)
    first = scattered(4, 4).to_sparse_csr(), torch.randn(4, 3)
    fast = sparse.compile(model, *first)
    for n in (4, 6, 1):
        A, x = scattered(n, n, density=1), torch.randn(n, 3)
        with torch.no_grad():
            torch.testing.assert_close(fast(A.to_sparse_csr(), x), torch.relu(A @ (x @ model.weight) + model.bias))


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1)])
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("density", [0.0, 1.0])
def test_axes_of_size_one(shape: tuple[int, int], layout: str, density: float) -> None:
    A = LAYOUTS[layout](scattered(*shape, density=density))
    same(lambda A, x: torch.exp(A @ x) + A.to_dense().sum(1, keepdim=True), A, torch.randn(shape[1], 3))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_empty_tensors(shape: tuple[int, int]) -> None:
    A = torch.zeros(shape).to_sparse_csr()
    same(lambda A, x: torch.relu(A @ x + 1), A, torch.randn(shape[1], 3))


def test_scalars() -> None:
    same(lambda A, s: (A.to_dense() * s).sum(), scattered(4, 4).to_sparse_csr(), torch.tensor(2.0))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtypes(dtype: torch.dtype) -> None:
    A, x = scattered(6, 6).to(dtype), torch.randn(6, 4).to(dtype)
    exact = dtype == torch.float64
    same(
        lambda A, x: torch.tanh(A @ x) + 1,
        A.to_sparse_csr(),
        x,
        rtol=1e-12 if exact else 3e-2,
        atol=1e-12 if exact else 3e-2,
    )


def test_integers_and_truths() -> None:
    A = torch.randint(0, 3, (5, 5))
    same(lambda A: A.to_dense() * 2 + A.t().to_dense(), A.to_sparse_csr())
    same(lambda M, x: x * M, torch.rand(5, 5) < 0.4, torch.randn(5, 5), formats={"operands_0": "csr"})


def test_complex_numbers_are_refused() -> None:
    refused("T0912", lambda A: A * 2, torch.randn(3, 3, dtype=torch.complex64))


def test_strides_do_not_matter() -> None:
    A = scattered(6, 6).to_sparse_csr()
    same(lambda A, x, y: A @ x + y, A, torch.randn(4, 6).t(), torch.randn(6, 8)[:, ::2])
    same(lambda A, x: A @ x, A, torch.randn(6, 1).expand(6, 4))


def test_gradients_are_refused_and_parameters_are_not() -> None:
    model = GraphConvolution(3, 2)
    A, x = scattered(4, 4).to_sparse_csr(), torch.randn(4, 3, requires_grad=True)
    fast = sparse.compile(model, A, x.detach())
    with pytest.raises(tokamak.Error, match="T0917"):
        fast(A, x)
    with torch.no_grad():
        assert not fast(A, x).requires_grad
    assert not fast(A, x.detach()).requires_grad


def test_refusals_name_the_op_the_place_and_a_remedy() -> None:
    A = scattered(4, 4).to_sparse_csr()

    class Inner(nn.Module):
        def forward(self, A):
            return A.to_dense().argmax(1)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, A):
            return self.inner(A)

    text = refused("T0910", Outer(), A)
    assert "test_sparse_inputs.py:" in text and "argmax in inner" in text and "outside" in text
    assert "dropout" in refused("T0910", nn.Sequential(nn.Dropout(0.5)).train(), torch.randn(4, 4))
    assert "torch.where" in refused("T0910", lambda A: A * float(A.sum()), A)
    assert "take" in refused("T0910", lambda A: A.values(), A)
    assert "in place" in refused("T0913", lambda A: A.add_(1), torch.randn(4, 4))
    assert "sparse input" in refused("T0915", lambda x: torch.sparse.softmax(x + 1, 1), torch.randn(4, 4))
    assert "divides" in refused("T0916", lambda x: (x + 1).view(6, 4).t().reshape(3, 8), torch.randn(4, 6))
    assert "csr" in refused("T0911", lambda x: x + 1, torch.randn(4, 4, 4), formats={"operands_0": "csr"})
    assert "operands_0" in refused("T0911", lambda x: x + 1, torch.randn(4), formats={"y": "csr"})
    assert "layers" in refused("T0976", lambda x: x + 1, torch.randn(4), schedule="whole")
    assert "forward takes" in refused("T0914", GraphConvolution(2, 2), A)


def test_ops_in_place_on_results() -> None:
    same(lambda A, x: F.relu((A @ x).add_(1), inplace=True).mul_(2), scattered(4, 4).to_sparse_csr(), torch.randn(4, 3))


def test_ops_in_place_that_others_would_see_are_refused() -> None:
    x = torch.randn(4, 4)
    for body in (
        lambda x: (y := x + 1, y[0].add_(1))[0],
        lambda x: (y := x + 1, y.t().mul_(2))[0],
        lambda x: (y := x + 1, F.dropout(y, 0.5, False).add_(1))[0],
        lambda x: (y := x + 1, y.to(torch.float32).relu_())[0],
        lambda x: (y := x + 1, z := y.view(16), y.add_(1), z)[-1],
    ):
        refused("T0913", body, x)
    refused("T0910", lambda x: (y := x + 1, y.__setitem__(0, 1.0))[0], x)
    refused("T0910", lambda x: x if x.sum() > 0 else -x, x)
    same(lambda x: (y := x + 1, y.clone().add_(1), y * 2)[1:], x)


def test_an_output_that_is_an_input_and_one_twice() -> None:
    def body(A, x):
        y = A @ x
        return y, y.t(), x, {"more": y}

    A, x = scattered(4, 4).to_sparse_csr(), torch.randn(4, 3)
    first, second, third, more = sparse.compile(Function(body), A, x)(A, x)
    expected = A.to_dense() @ x
    torch.testing.assert_close(first, expected)
    torch.testing.assert_close(second, expected.t())
    torch.testing.assert_close(third, x)
    torch.testing.assert_close(more["more"], expected)
