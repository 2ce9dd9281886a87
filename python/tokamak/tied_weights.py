"""Gradients of an embedding whose table is a weight elsewhere too: added into that weight's gradient.

A language model reads its table of words at both ends, and the two gradients are summed. Each is as large as the table,
most rows of the embedding's are zero, and to add them takes a third:

    embedding_dense_backward(grad, index) + y  =>  index_put(y, [index], grad, accumulate=True)
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from .rewriting import call

aten = torch.ops.aten
SINGLE = (torch.float32, torch.float64)  # halves are rounded once for each gradient


def add_in_place(module: GraphModule) -> None:
    """Rewrites the graph in place, on the CPU."""
    for node in module.graph.find_nodes(op="call_function", target=aten.embedding_dense_backward.default):
        if (total := sum_with(node)) is not None:
            rewrite(module, node, total)


def sum_with(node: Node) -> Node | None:
    """The sum of this gradient and another that is its only reader."""
    value, padding, by_frequency = node.meta["val"], *node.args[3:5]
    total = next(iter(node.users), None)
    if len(node.users) != 1 or total.target is not aten.add.Tensor or total.kwargs or total.args[0] is total.args[1]:
        return None
    fits = value.device.type == "cpu" and value.dtype in SINGLE and isinstance(padding, int) and not by_frequency
    others = [x for x in total.args if x is not node]
    return total if fits and all(is_like(x, value) for x in others) else None


def is_like(x: Any, value: torch.Tensor) -> bool:
    given = x.meta.get("val") if isinstance(x, Node) else None
    same = isinstance(given, torch.Tensor) and given.dtype == value.dtype
    return same and list(map(str, given.shape)) == list(map(str, value.shape))


def rewrite(module: GraphModule, node: Node, total: Node) -> None:
    graph, (grad, index, _, padding) = module.graph, node.args[:4]
    other = next(x for x in total.args if x is not node)
    with graph.inserting_before(total), grad.meta["val"].fake_mode:
        if padding >= 0:
            kept = call(graph, aten.unsqueeze.default, call(graph, aten.ne.Scalar, index, padding), -1)
            nothing = call(graph, aten.full.default, [], 0.0, dtype=grad.meta["val"].dtype)
            grad = call(graph, aten.where.self, kept, grad, nothing)
        put = call(graph, aten._unsafe_index_put.default, other, [index], grad, True)
    total.replace_all_uses_with(put)
    graph.erase_node(total)
    graph.erase_node(node)
