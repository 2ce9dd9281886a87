"""The programs of this folder as PyTorch models, each with small inputs. `python examples/sparse/run.py gcn` runs one.

Each entry of MODELS makes a model and its inputs. Inputs are torch sparse tensors, or dense ones with a format by name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from gpt3 import DecoderBlock, bigbird_mask
from tokamak import sparse
from torch import nn


@dataclasses.dataclass
class Example:
    """A model, its inputs, and formats for what torch holds densely."""

    model: nn.Module
    inputs: tuple
    formats: dict[str, str] = dataclasses.field(default_factory=dict)
    eager_is_dense: bool = False  # torch has the model's ops for dense tensors alone
    schedules: dict[str, str] = dataclasses.field(default_factory=dict)  # of its own, by name

    @torch.no_grad()
    def eager(self) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return self.model(*(x.to_dense() if self.eager_is_dense else x for x in self.inputs))


def scattered(*shape: int, density: float = 0.3) -> torch.Tensor:
    return torch.randn(*shape) * (torch.rand(*shape) < density)


class GraphConvolution(nn.Module):
    """A (X W) + b"""

    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, hidden) / features**0.5)
        self.bias = nn.Parameter(torch.randn(hidden))

    def forward(self, A: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        return torch.sparse.mm(A, X @ self.weight) + self.bias


class GCN(nn.Module):
    """Two graph convolutions and a softmax over classes."""

    def __init__(self, features: int, hidden: int, classes: int):
        super().__init__()
        self.first = GraphConvolution(features, hidden)
        self.second = GraphConvolution(hidden, classes)

    def forward(self, A: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        return F.softmax(self.second(A, F.relu(self.first(A, X))), dim=1)


class SageLayer(nn.Module):
    """The mean of the neighbours and the node itself, each with weights of its own."""

    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.neighbours = nn.Linear(features, hidden, bias=False)
        self.itself = nn.Linear(features, hidden)

    def forward(self, A: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        edges = sparse.stored(A)
        mean = (edges @ self.neighbours(X)) / edges.sum(1, keepdim=True).clamp(min=1)
        return mean + self.itself(X)


class GraphSAGE(nn.Module):
    def __init__(self, features: int, hidden: int, classes: int):
        super().__init__()
        self.first = SageLayer(features, hidden)
        self.second = SageLayer(hidden, classes)

    def forward(self, A: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        return self.second(A, F.relu(self.first(A, X)))


class GraphAttention(nn.Module):
    """One head: weights of edges from both ends, softmax over the neighbours."""

    def __init__(self, features: int, hidden: int):
        super().__init__()
        self.weight = nn.Linear(features, hidden, bias=False)
        self.left = nn.Parameter(torch.randn(hidden))
        self.right = nn.Parameter(torch.randn(hidden))

    def forward(self, A: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        T = self.weight(X)
        scores = F.leaky_relu((T @ self.left)[:, None] + (T @ self.right)[None, :], 0.2)
        return sparse.masked_softmax(scores, A, dim=1) @ T


class Autoencoder(nn.Module):
    """Pruned weights: the formats say that they are stored as CSR."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.encoder = nn.Linear(size, hidden)
        self.decoder = nn.Linear(hidden, size)
        with torch.no_grad():
            for layer in (self.encoder, self.decoder):
                layer.weight *= torch.rand_like(layer.weight) < 0.2

    def forward(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        Z = F.relu(self.encoder(X))
        return Z, self.decoder(Z)


class MaskedAttention(nn.Module):
    """Attention over the pairs of tokens that a mask keeps, in one head or in several."""

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, M: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(Q, K, V, attn_mask=M, scale=0.125)


class LayerNorm(nn.Module):
    """Over the stored entries of each row, with gain and bias along the columns."""

    def __init__(self, size: int):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(size))
        self.bias = nn.Parameter(torch.randn(size))

    def forward(self, A: torch.Tensor) -> torch.Tensor:
        kept, values = sparse.stored(A), A.to_dense()
        count = kept.sum(1, keepdim=True).clamp(min=1)
        off = (values - values.sum(1, keepdim=True) / count) * kept
        spread = (off * off).sum(1, keepdim=True) / count
        return (off * torch.rsqrt(spread + 1e-5) * self.gain + self.bias) * kept


class Function(nn.Module):
    """A model of one expression."""

    def __init__(self, body: Callable):
        super().__init__()
        self.body = body

    def forward(self, *operands: torch.Tensor) -> torch.Tensor:
        return self.body(*operands)


def graph(nodes: int = 20) -> torch.Tensor:
    return scattered(nodes, nodes, density=0.2).abs().to_sparse_csr()


def autoencoder() -> Example:
    return Example(Autoencoder(16, 8), (torch.randn(6, 16),), {"encoder.weight": "csr", "decoder.weight": "csr"})


def attention() -> Example:
    mask = (torch.rand(16, 16) < 0.3) | torch.eye(16, dtype=torch.bool)
    return Example(MaskedAttention(), (*(torch.randn(4, 16, 8) for _ in range(3)), mask), {"M": "csr"})


def block_attention() -> Example:
    blocks = torch.kron((torch.rand(4, 4) < 0.4) | torch.eye(4, dtype=torch.bool), torch.ones(4, 4)).bool()
    return Example(MaskedAttention(), (*(torch.randn(16, 8) for _ in range(3)), blocks), {"M": "bcsr(4, 4)"})


def decoder(mask_format: str) -> Example:
    """The mask by blocks as gpt3.ein has it, or pair by pair as bigbird.ein has it."""
    model = DecoderBlock(width=16, heads=4, hidden=32).eval()
    return Example(model, (torch.randn(16, 16), bigbird_mask(16, block=4)), {"M": mask_format})


def product_in_all_orders() -> Example:
    """Where an order contradicts the storage of an operand, a permuted copy of it is read."""
    orders = {"inner": "i, k, j", "inner_t": "k, i, j", "rows": "i, j, k", "columns": "k, j, i", "outer": "j, i, k"}
    orders["outer_t"] = "j, k, i"
    schedules = {name: f"schedule {name} {{ fuse {{out}} {{ order {order} }} }}" for name, order in orders.items()}
    formats = {"operands_0": "dcsr", "operands_1": "dcsr", "output": "dcsr"}
    return Example(Function(lambda A, B: A @ B), (scattered(9, 7), scattered(7, 8)), formats, schedules=schedules)


def csf(*shape: int) -> tuple[torch.Tensor, dict[str, str]]:
    return scattered(*shape).to_sparse(), {"operands_0": "csf"}


MODELS: dict[str, Callable[[], Example]] = {
    "gcn": lambda: Example(GCN(12, 6, 4), (graph(), scattered(20, 12).to_sparse_csr())),
    "graphsage": lambda: Example(GraphSAGE(12, 6, 4), (graph(), torch.randn(20, 12))),
    "graph_attention": lambda: Example(GraphAttention(12, 6), (graph(), torch.randn(20, 12))),
    "autoencoder": autoencoder,
    "attention": attention,
    "block_attention": block_attention,
    "gpt3": lambda: decoder("bcsr(4, 4)"),
    "bigbird": lambda: decoder("csr"),
    "spmv": lambda: Example(Function(lambda A, x: A @ x), (graph(), torch.randn(20))),
    "spmm_orders": product_in_all_orders,
    "spmm": lambda: Example(Function(lambda A, B: A @ B), (graph(), graph()), {"output": "csr"}),
    "sddmm": lambda: Example(
        Function(lambda A, B, C: A * (B @ C.t())), (graph(), torch.randn(20, 5), torch.randn(20, 5)), {"output": "csr"}
    ),
    "mttkrp": lambda: Example(
        Function(lambda X, B, C: torch.einsum("ijk,jr,kr->ir", X, B, C)),
        ((X := csf(5, 6, 7))[0], torch.randn(6, 4), torch.randn(7, 4)),
        X[1],
        eager_is_dense=True,
    ),
    "ttv": lambda: Example(
        Function(lambda X, v: torch.einsum("ijk,k->ij", X, v)),
        ((X := csf(5, 6, 7))[0], torch.randn(7)),
        X[1],
        eager_is_dense=True,
    ),
    "chain": lambda: Example(
        Function(lambda A, X, W, V: A @ X @ W @ V),
        (graph(), scattered(20, 12).to_sparse_csr(), torch.randn(12, 6), torch.randn(6, 3)),
    ),
    "softmax": lambda: Example(
        Function(lambda A: torch.sparse.softmax(A, 1)), (scattered(20, 12).to_sparse(),), {"output": "coo"}
    ),
    "layer_norm": lambda: Example(LayerNorm(12), (scattered(20, 12).to_sparse_csr(),), {"output": "csr"}),
}
