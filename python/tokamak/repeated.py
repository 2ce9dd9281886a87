"""What several calls of ATen read, written out once for each of them, is made once.

Every layer of a transformer turns the same mask into the same numbers for its attention. Kernels of ours would compute
such a thing where they need it; a call reads it from memory, where one copy serves all:

    attention(q1, k1, v1, where(mask, 0, -inf));  attention(q2, k2, v2, where(mask, 0, -inf))
    => bias = where(mask, 0, -inf);  attention(q1, k1, v1, bias);  attention(q2, k2, v2, bias)
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from .importer.calls import is_function, mutates
from .importer.views import VIEWS
from .lowering import registry


def share_repeated(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    first = first_alike(module.graph)
    for node in filter(is_call, module.graph.nodes):
        for operand in node.all_input_nodes:
            if first[operand] is not operand:
                node.replace_input_with(operand, first[operand])


def first_alike(graph: Graph) -> dict[Node, Node]:
    """Of every node, the first that computes the same of the same."""
    first: dict[Node, Node] = {}
    seen: dict[Any, Node] = {}
    for node in graph.nodes:
        first[node] = node
        if node.op == "call_function" and is_function(node.target) and not node.is_impure():
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: Operand(first[n]))
            first[node] = seen.setdefault((node.target, exactly(args), exactly(kwargs)), node)
    return first


class Operand:
    """A node among arguments, as part of a key."""

    def __init__(self, node: Node):
        self.node = node


def exactly(value: Any) -> Any:
    """A key that tells numbers apart that compare equal: 1, 1.0 and True, 0.0 and -0.0."""
    if isinstance(value, (tuple, list)):
        return tuple(exactly(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, exactly(v)) for k, v in sorted(value.items()))
    if isinstance(value, Operand):
        return value.node
    return type(value), repr(value)


def is_call(node: Node) -> bool:
    """Whether ATen runs it, and does no more than read its operands."""
    target = node.target
    if node.op != "call_function" or target is operator.getitem or target in VIEWS:
        return False
    return not mutates(target) and registry.find(target) is None
