"""The guide to sparse PyTorch models, as a script. It writes to the folder that it is given, or to one of its own."""

import sys
import tempfile

import tokamak
import torch
import torch.nn.functional as F
from tokamak import sparse
from torch import nn


class GCN(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, classes)

    def forward(self, A, x):
        x = F.relu(A @ self.first(x))
        return F.log_softmax(A @ self.second(x), dim=1)


class Attention(nn.Module):
    def forward(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class Neighbours(nn.Module):
    def forward(self, A, x):
        scores = sparse.masked_softmax(x @ x.t(), A, dim=1)
        return scores @ x


def first_model(folder):
    A = (torch.rand(100, 100) < 0.05).float().to_sparse_csr()
    x = torch.randn(100, 16)
    model = GCN(16, 8, 4).eval()

    fast = sparse.compile(model, A, x)
    y = fast(A, x)

    torch.testing.assert_close(y, model(A, x).detach())
    print(fast.program)
    print(fast.explain(brief=True))

    for schedule in ("unfused", "layers", "full", "auto"):
        levelled = sparse.compile(model, A, x, schedule=schedule)
        torch.testing.assert_close(levelled(A, x), y)
        print(f"{schedule}: {len(levelled.regions)} regions")

    fast.save(folder, A, x)


def formats():
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
    with torch.no_grad():
        for layer in (model[0], model[2]):
            layer.weight *= torch.rand_like(layer.weight) < 0.1  # pruned
    x = torch.randn(5, 64)

    fast = sparse.compile(model, x, formats={"0.weight": "csr", "2.weight": "csc"})
    torch.testing.assert_close(fast(x), model(x).detach())


def masks():
    q, k, v = torch.randn(3, 2, 16, 8)  # two heads
    blocks = torch.eye(4).bool() | (torch.rand(4, 4) < 0.3)
    mask = torch.kron(blocks, torch.ones(4, 4)).bool()

    fast = sparse.compile(Attention(), q, k, v, mask, formats={"mask": "bcsr(4, 4)"})
    torch.testing.assert_close(fast(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, attn_mask=mask))

    A = (torch.rand(20, 20) < 0.2).float().to_sparse_csr()
    x = torch.randn(20, 8)
    neighbours = sparse.compile(Neighbours(), A, x)
    torch.testing.assert_close(neighbours(A, x), Neighbours()(A, x))


def refusals():
    class Best(nn.Module):
        def forward(self, A, x):
            return (A @ x).argmax(1)

    A = torch.eye(4).to_sparse_csr()
    try:
        sparse.compile(Best(), A, torch.randn(4, 3))
    except tokamak.Error as refusal:
        print(refusal)


def main():
    torch.manual_seed(0)
    first_model(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    formats()
    masks()
    refusals()


if __name__ == "__main__":
    main()
