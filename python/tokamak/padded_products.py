"""Products of halves on a GPU whose sizes are no multiples of eight: padded, they run on the tensor cores' fast path.

cuBLAS takes several times as long for a vocabulary of 50257 as for one of 50264. The second operand is padded with
zeros and the result cut, where both copies together cost far less than the product.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from .rewriting import call

aten = torch.ops.aten
HALVES = (torch.float16, torch.bfloat16)
UNIT = 8  # elements of 16 bytes
LEAST = 1 << 31  # multiplications below which two more copies are not worth it


def pad_products(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    for node in list(module.graph.nodes):
        if node.op == "call_function" and node.target in (aten.mm.default, aten.addmm.default):
            columns = wanted_columns(node)
            if columns is not None:
                pad(module, node, columns)


def wanted_columns(node: Node) -> int | None:
    """The number of columns to pad the second operand to, if that pays."""
    left, right = (n.meta["val"] for n in node.args[-2:])
    if right.dtype not in HALVES or right.device.type != "cuda" or node.kwargs:
        return None
    sizes = (*left.shape, right.shape[1])
    if not all(isinstance(size, int) for size in sizes):
        return None
    rows, inner, columns = sizes
    if columns % UNIT == 0 or inner % UNIT or rows * inner * columns < LEAST:
        return None
    # The copies move the matrix and the result twice; the product must weigh more than they do.
    return (columns + UNIT - 1) // UNIT * UNIT if rows >= 128 and inner >= 256 else None


def pad(module: GraphModule, node: Node, columns: int) -> None:
    graph = module.graph
    right = node.args[-1]
    had = right.meta["val"].shape[1]
    with graph.inserting_before(node):
        args = list(node.args)
        args[-1] = call(graph, aten.constant_pad_nd.default, right, [0, columns - had])
        if node.target is aten.addmm.default and args[0].meta["val"].shape[-1] != 1:
            args[0] = call(graph, aten.constant_pad_nd.default, args[0], [0, columns - had])
        product = call(graph, node.target, *args)
        cut = call(graph, aten.slice.Tensor, product, 1, 0, had)
        dense = call(graph, aten.clone.default, cut)
        # As eager lays it out; a slice's own strides would keep the padding.
        dense.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(dense)
    graph.erase_node(node)
