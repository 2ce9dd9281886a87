"""Divisions of integers whose quotients nobody reads.

Tracing leaves out what nobody reads, but eager raises where a divisor is zero. So the check alone is kept, in what
Dynamo captured, where such divisions still are.
"""

from __future__ import annotations

import operator

import torch
from torch.fx import GraphModule, Node

FUNCTIONS = {
    operator.floordiv, operator.mod, torch.floor_divide, torch.remainder, torch.fmod, torch.div, torch.divide,
}  # fmt: skip
METHODS = {"floor_divide", "remainder", "fmod", "div", "divide"}


def check_unread_divisors(module: GraphModule) -> None:
    """Changes the graph in place."""
    graph, read = module.graph, set()
    suspects = [node for node in graph.nodes if divides(node)]
    if not suspects:
        return
    pending = [node for node in graph.nodes if node.op == "output"]
    while pending:
        node = pending.pop()
        pending += [n for n in node.all_input_nodes if n not in read]
        read.update(node.all_input_nodes)
    for node in suspects:
        if node not in read:
            with graph.inserting_before(node.next):
                check(graph, node)
    module.recompile()


def divides(node: Node) -> bool:
    """Whether this divides integers by a tensor's, on the CPU."""
    names = {"call_function": FUNCTIONS, "call_method": METHODS}.get(node.op, ())
    if node.target not in names:
        return False
    result = node.meta.get("example_value")
    divisor = node.args[1] if len(node.args) > 1 else None
    if not isinstance(result, torch.Tensor) or result.dtype.is_floating_point or result.dtype.is_complex:
        return False
    tensor = isinstance(divisor, Node) and isinstance(divisor.meta.get("example_value"), torch.Tensor)
    return tensor and result.device.type == "cpu"


def check(graph: torch.fx.Graph, node: Node) -> None:
    nonzero = graph.call_function(operator.ne, (node.args[1], 0))
    everywhere = graph.call_method("all", (graph.call_method("expand_as", (nonzero, node)),))
    graph.call_function(torch._assert_async, (everywhere, "ZeroDivisionError"))
