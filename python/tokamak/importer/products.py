"""Products that segments on a GPU put on the stream themselves, with the activation behind them if the library has it.

The way through ATen costs the host several times what the library itself does, which is most of the time of a model
whose kernels are short. A product still ends its level, as a call of ATen does: what its operands took is free again
before its readers run. Large products are ATen's: the host's time hides behind them, and a segment would keep its
other operands meanwhile. So are those in f32, since ATen knows how exact torch wants them to be.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Graph, Node

from .dims import hint_of, memory_order
from .entries import Entry
from .levels import bytes_of
from .segment import HALVES
from .tensors import DTYPES
from .views import PRODUCTS

if TYPE_CHECKING:
    from .graph import Importer

aten = torch.ops.aten
LARGE = 16 << 20  # bytes of a result
RESHAPES = (aten.view.default, aten._unsafe_view.default, aten.reshape.default)
TERMS = (aten.mul.Tensor, aten.mul.Scalar, aten.add.Tensor, aten.add.Scalar, aten.pow.Tensor_Scalar, aten.tanh.default)
"""Of a GELU by its formula, of which there are twelve at most."""


def own_products(graph: Graph, banned: Container[Node]) -> tuple[set[Node], set[Node]]:
    """The products that are ours, and the nodes that end their levels: activations behind them, or themselves."""
    own = {node for node in graph.nodes if node not in banned and is_own(node)}
    ends = {closing(node) for node in own}
    return own, ends


def is_own(node: Node) -> bool:
    """Whether the library can be called with the operands as they lie, and does all that ATen would."""
    if node.target not in PRODUCTS or bytes_of(node) > LARGE:
        return False
    fakes = [n.meta.get("val") for n in (*node.all_input_nodes, node)]
    if not all(isinstance(f, torch.Tensor) and DTYPES.get(f.dtype) in HALVES for f in fakes):
        return False
    if not may_reduce_in_halves(fakes[0].dtype):
        return False
    if len({f.dtype for f in fakes}) > 1 or any(hint_of(size) == 0 for f in fakes for size in f.shape):
        return False
    if len(node.args) == 3:  # addmm
        bias = node.args[0].meta["val"]
        if node.kwargs or bias.dim() != 1 or bias.shape[0] != node.meta["val"].shape[1]:
            return False
    return all(lies_as_matrices(n.meta["val"]) for n in node.args[-2:])


def may_reduce_in_halves(dtype: torch.dtype) -> bool:
    """Whether torch is content with the library's own choice of how a long sum is cut; if not, ATen sees to it."""
    settings = torch.backends.cuda.matmul
    half = dtype == torch.float16
    return bool(
        settings.allow_fp16_reduced_precision_reduction if half else settings.allow_bf16_reduced_precision_reduction
    )


def lies_as_matrices(fake: torch.Tensor) -> bool:
    """Rows, or columns, one after the other, and one matrix after the other."""
    order, plain = memory_order(fake), list(range(fake.dim()))
    return order in (plain, [*plain[:-2], plain[-1], plain[-2]])


def closing(product: Node) -> Node:
    """The activation that the library may apply before it stores a product nobody else reads; else the product."""
    last = product
    while len(last.users) == 1 and next(iter(last.users)).target in RESHAPES:
        (last,) = last.users
    if len(last.users) == 1 and is_epilogue(next(iter(last.users))):
        (last,) = last.users
        return last
    return written_gelu(last) or product


def written_gelu(x: Node) -> Node | None:
    """The end of a formula of x and numbers with one tanh in it, if all that reads its result is products."""
    formula = [x]
    for node in formula:
        known = {*formula}
        formula += [
            u for u in node.users if u.target in TERMS and u not in known and known.issuperset(u.all_input_nodes)
        ]
        if len(formula) > 13:
            return None
    ends = [n for n in formula if not n.users.keys() <= {*formula}]
    if len(ends) != 1 or ends[0] is x or sum(n.target is aten.tanh.default for n in formula) != 1:
        return None
    readers = list(ends[0].users)
    for reader in readers:
        if reader.target in RESHAPES:
            readers += reader.users
    return ends[0] if all(reader.target in (*RESHAPES, *PRODUCTS) for reader in readers) else None


def is_epilogue(node: Node) -> bool:
    if node.target is aten.gelu.default:
        return node.kwargs.get("approximate", "none") == "tanh"
    return node.target is aten.relu.default


def ended(importer: Importer, node: Node, fake: Any) -> Entry:
    """The node as a result of the segment of its operands' level; its readers are on the next."""
    level = max(importer.entries[n].level for n in node.all_input_nodes)
    made = importer.lowered_in(node, fake, level)
    return Entry(fake, level + 1, slot=importer.stored_slot(made), node=node)
