"""A few logarithms picked from a log-softmax that nobody else reads: they are computed alone.

The loss of a classifier reads one of 50257 logarithms a row. A gather wants its operand in memory, so all of them would
be stored; picked from the scores instead, one pass over those finds the largest, the sum and the loss.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from .rewriting import call

aten = torch.ops.aten
SINGLE = (torch.float32, torch.float64)  # halves are rounded where a log-softmax rounds them


def pick_logs(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    for node in list(module.graph.nodes):
        if node.op == "call_function" and node.target is aten.gather.default and fits(node):
            rewrite(module, node)


def fits(node: Node) -> bool:
    logs, dim, index = node.args[:3]
    if logs.target is not aten._log_softmax.default or len(logs.users) > 1:
        return False
    x, along = logs.args[0].meta["val"], logs.args[1]
    shape, picks = list(x.shape), list(index.meta["val"].shape)
    if x.dtype not in SINGLE or not shape or len(shape) != len(picks) or dim % len(shape) != along % len(shape):
        return False
    del shape[dim], picks[dim]
    return list(map(str, shape)) == list(map(str, picks))  # sizes that are symbols are not to be guarded


def rewrite(module: GraphModule, node: Node) -> None:
    graph, (logs, dim, index) = module.graph, node.args[:3]
    x = logs.args[0]
    with graph.inserting_before(node):
        most = call(graph, aten.amax.default, x, [dim], True)
        powers = call(graph, aten.exp.default, call(graph, aten.sub.Tensor, x, most))
        total = call(graph, aten.log.default, call(graph, aten.sum.dim_IntList, powers, [dim], True))
        picked = call(graph, aten.gather.default, x, dim, index)
        picked.meta["original_aten"] = node.meta.get("original_aten")  # an index out of range is that op's error
        alone = call(graph, aten.sub.Tensor, call(graph, aten.sub.Tensor, picked, most), total)
    node.replace_all_uses_with(alone)
    graph.erase_node(node)
    graph.erase_node(logs)
