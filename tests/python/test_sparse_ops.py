"""Every op that `tokamak.sparse.compile` writes down, fused as a whole and op by op, against eager on dense tensors."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from test_sparse import SCHEDULES, scattered
from test_sparse_inputs import Function, same
from tokamak import sparse
from torch import nn

X = torch.randn(12, 8, generator=torch.Generator().manual_seed(0))
Q = torch.randn(2, 3, 12, 4, generator=torch.Generator().manual_seed(1))


def stored(*shape: int) -> torch.Tensor:
    return scattered(*shape).to_sparse_csr()


def truths() -> torch.Tensor:
    return (torch.rand(12, 12) < 0.3) | torch.eye(12, dtype=torch.bool)


ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "elu": F.elu,
    "abs": torch.abs,
    "neg": torch.neg,
    "softplus": F.softplus,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "mish": F.mish,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp_max": lambda x: x.clamp(max=0.1),
    "square": torch.square,
    "pow": lambda x: x**3,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": lambda x: torch.log(x.abs() + 1),
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "reciprocal": lambda x: 1 / (x.abs() + 1),
    "sin": torch.sin,
    "erf": torch.erf,
    "where": lambda x: torch.where(x > 0, x, -2 * x),
    "maximum": lambda x: torch.maximum(x, x * x),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_reach_absent_entries(name: str) -> None:
    same(lambda A: ACTIVATIONS[name](A.to_dense()), stored(6, 5))


PRODUCTS = {
    "mm": lambda A, x: torch.mm(A, x),
    "sparse.mm": lambda A, x: torch.sparse.mm(A, x),
    "spmm": lambda A, x: torch.spmm(A, x),
    "matmul": lambda A, x: A @ x,
    "addmm": lambda A, x: torch.addmm(x, A, x, beta=2, alpha=0.5),
    "sparse.addmm": lambda A, x: torch.sparse.addmm(x, A, x),
    "mv": lambda A, x: torch.mv(A, x[:, 0]),
    "linear": lambda A, x: F.linear(x.t(), A),
    "transposed": lambda A, x: A.t() @ x,
    "einsum": lambda A, x: torch.einsum("ji,jk->ik", A, x),
    "twice": lambda A, x: A @ (A @ x),
    "sparse by sparse": lambda A, x: A @ A,
    "by itself transposed": lambda A, x: A @ A.t(),
    "elementwise": lambda A, x: A * (x @ x.t()),
    "divided": lambda A, x: A.to_dense() / (1 + (x @ x.t()).abs()),
    "sum": lambda A, x: (A + A.t()).to_dense() - A.to_dense() * 3,
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    model, A = Function(PRODUCTS[name]), scattered(12, 12)
    expected = (
        model.body(A, X) if not name.startswith("sparse.") else {"sparse.mm": A @ X, "sparse.addmm": X + A @ X}[name]
    )
    for schedule in SCHEDULES:
        got = sparse.compile(model, A.to_sparse_csr(), X, schedule=schedule)(A.to_sparse_csr(), X)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_products_of_batches() -> None:
    same(lambda q, k: q @ k.transpose(-1, -2), Q, Q + 1)
    same(lambda q, w: q @ w, Q, torch.randn(4, 5))
    same(lambda A, q: A @ q, stored(12, 12), Q)
    same(lambda q: torch.bmm(q[0], q[1].transpose(1, 2)), Q)
    same(lambda q: torch.einsum("abij,abkj->bik", q, q), Q)


def test_linear_with_sparse_weights() -> None:
    model = nn.Sequential(nn.Linear(8, 6), nn.GELU(), nn.Linear(6, 3))
    with torch.no_grad():
        model[0].weight *= torch.rand(6, 8) < 0.3
    same(model, X, formats={"0.weight": "csr", "2.weight": "csc"})
    model[0].weight = nn.Parameter(model[0].weight.detach().to_sparse_csr(), requires_grad=False)
    fast = sparse.compile(model, X)
    assert "input t0_weight[K, M]: csr" in fast.program or ": csr" in fast.program
    dense = F.linear(F.gelu(F.linear(X, model[0].weight.to_dense(), model[0].bias)), model[2].weight, model[2].bias)
    torch.testing.assert_close(fast(X), dense.detach())


def test_softmax_is_over_everything_unless_it_says_otherwise() -> None:
    A = scattered(7, 9)
    same(lambda A: F.softmax(A.to_dense(), 1), A.to_sparse_csr())
    same(lambda A: F.log_softmax(A.to_dense(), 0), A.to_sparse_csr())
    for body in (torch.sparse.softmax, torch.sparse.log_softmax):
        model = Function(lambda A, body=body: body(A, 1))
        for schedule in SCHEDULES:
            coo = A.to_sparse()
            fast = sparse.compile(model, coo, schedule=schedule)
            assert "where operands_0" in fast.program
            torch.testing.assert_close(fast(coo), model(coo).to_dense())


def test_a_stored_zero_is_stored() -> None:
    A = torch.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [0.0, 1.0, 2.0], (3, 3)).coalesce()
    for schedule in SCHEDULES:
        got = sparse.compile(Function(lambda A: torch.sparse.softmax(A, 1)), A, schedule=schedule)(A)
        torch.testing.assert_close(got, torch.sparse.softmax(A, 1).to_dense())


MASKS = {
    "fill ==": lambda s, M: F.softmax((s @ s.t()).masked_fill(M == 0, -math.inf), -1),
    "fill ~": lambda s, M: F.softmax((s @ s.t()).masked_fill(~M, -math.inf), -1),
    "fill not": lambda s, M: F.softmax((s @ s.t()).masked_fill(M.logical_not(), -1e9), -1),
    "where": lambda s, M: F.softmax(torch.where(M, s @ s.t(), -math.inf), -1),
    "attention": lambda s, M: F.scaled_dot_product_attention(s[None], s[None] + 1, s[None] * 2, attn_mask=M),
    "masked_softmax": lambda s, M: sparse.masked_softmax(s @ s.t(), M, -1),
}


@pytest.mark.parametrize("form", ["csr", "bcsr(4, 4)", "coo", "dense"])
@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str, form: str) -> None:
    if name == "masked_softmax" and form.startswith("bcsr"):
        mask = torch.kron(torch.eye(3), torch.ones(4, 4)).bool()  # every pair of a stored block counts
    else:
        mask = truths()
    same(MASKS[name], X, mask, formats={"operands_1": form})
    program = sparse.compile(Function(MASKS[name]), X, mask, formats={"operands_1": form}).program
    assert ("where operands_1" in program) == (form != "dense")


def test_attention() -> None:
    mask = truths()
    same(
        lambda q, M: F.scaled_dot_product_attention(q, q + 1, q * 2, attn_mask=M),
        Q,
        mask,
        formats={"operands_1": "csr"},
    )
    same(lambda q: F.scaled_dot_product_attention(q, q + 1, q * 2, is_causal=True), Q)
    same(lambda q, b: F.scaled_dot_product_attention(q, q, q, attn_mask=b, scale=0.3), Q, torch.randn(12, 12))


def test_sampled_products() -> None:
    A = stored(12, 12)
    for body in (
        lambda A, q, k: torch.sparse.sampled_addmm(A, q, k.t(), beta=0.5, alpha=2.0),
        lambda A, q, k: torch.sparse.sampled_addmm(A, q, k.t(), beta=0.0),
    ):
        for schedule in SCHEDULES:
            got = sparse.compile(Function(body), A, X, X + 1, schedule=schedule)(A, X, X + 1)
            torch.testing.assert_close(got, body(A, X, X + 1).to_dense(), rtol=1e-4, atol=1e-5)


def test_norms() -> None:
    same(nn.LayerNorm(8), X)
    same(lambda A: F.layer_norm(A.to_dense(), (9,)), stored(7, 9))
    same(lambda q: F.layer_norm(q, (12, 4)), Q)
    same(nn.RMSNorm(8), X)
    same(nn.BatchNorm1d(8).eval(), X)


def test_reductions() -> None:
    def body(A):
        x = A.to_dense()
        return (x.sum(), x.mean(0), x.amax(1), x.amin(), x.var(1), x.std(0, unbiased=False), x.norm(dim=1), x.max(),
                x.sum(1, keepdim=True), x.any(1), x.mean())  # fmt: skip

    same(body, stored(7, 9))


def test_views() -> None:
    same(lambda x: x.view(3, 4, 8).transpose(0, 1).reshape(12, 2, 4).permute(2, 0, 1).unsqueeze(1) + 1, X)
    same(lambda x: x.view(12, 2, 4).transpose(0, 1) @ x.view(12, 2, 4).permute(1, 2, 0), X)
    same(lambda x: (x.flatten() * 2).view(4, 24)[None].squeeze(0).expand(2, 4, 24), X)
    same(lambda x: x[:, None, :] * x[None], X)
    same(lambda A, x: (A @ x).view(12, 2, 4).sum(2), stored(12, 12), X)


def test_a_reshape_splits_a_sparse_axis() -> None:
    for layout in ("csr", "csc", "coo", "dcsr"):
        same(
            lambda W, x: F.linear(x, W).view(12, 2, 3).transpose(0, 1),
            scattered(6, 8),
            X,
            formats={"operands_0": layout},
        )


def test_slices_and_joins() -> None:
    same(lambda x: (x[2:5], x[:, 1], x[:, ::2], x[3], x[:, 4:8]), X)
    same(lambda x: (x * 2)[2:5] + (x + 1)[4:7], X)
    same(lambda x: (x + 1).chunk(2, -1)[0] * x.split([4, 4], 1)[1], X)
    same(lambda x: torch.cat([x, x * 2, x[:, :3]], 1) @ torch.ones(19, 3), X)
    same(lambda x: torch.stack([x, x * 2], 1), X)
    same(lambda A, x: torch.cat([A @ x, x], 1), stored(12, 12), X)


def test_modules_of_torch() -> None:
    same(nn.MultiheadAttention(8, 2, batch_first=True).eval(), X[None], X[None], X[None])
    same(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).eval(), X[None])


def test_sparse_results() -> None:
    A = stored(12, 12)
    for form, layout in {"csr": torch.sparse_csr, "csc": torch.sparse_csc, "coo": torch.sparse_coo,
                         "bcsr(3, 4)": torch.sparse_bsr, "dense": torch.strided}.items():  # fmt: skip
        got = sparse.compile(Function(lambda A: A * 2), A, formats={"output": form})(A)
        assert got.layout == layout
        torch.testing.assert_close(got.to_dense() if layout != torch.strided else got, A.to_dense() * 2)


def test_hybrid_and_batched_tensors() -> None:
    hybrid = scattered(5, 4, 3).to_sparse(2)
    same(lambda A, x: torch.einsum("ijk,k->ij", A, x), hybrid, torch.randn(3))
    batched = torch.stack([torch.eye(4), torch.eye(4).flip(0)]).to_sparse_csr()
    same(lambda A, x: torch.einsum("bij,jk->bik", A, x), batched, torch.randn(4, 3))


def test_a_schedule_as_text() -> None:
    class Two(nn.Module):
        def forward(self, A, x):
            return torch.relu(A @ x)

    A = stored(12, 12)
    text = "schedule mine { fuse {matmul, out} { order i, k, j  parallel i 2 } }"
    fast = sparse.compile(Two(), A, X, schedule=text)
    torch.testing.assert_close(fast(A, X), torch.relu(A.to_dense() @ X))
    assert len(fast.regions) == 1 and "parallel i 2" in fast.schedule
