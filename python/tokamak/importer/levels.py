"""How late a node may be computed.

A node is ready as soon as its operands are, but what it makes then waits in memory for its readers. In a graph with
calls between segments that can be long: the biases of all attention layers, or everything that a backward pass
recomputes, would be made first and kept. A node goes down to the level of its first reader where that keeps fewer
bytes alive: its result is larger than the operands that live on for its sake.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.fx import Graph, Node

from .dims import hint_of


def late_levels(graph: Graph, is_call: Callable[[Node], bool], is_view: Callable[[Node], bool]) -> dict[Node, int]:
    """The level of each node that is ours, where it is above the first possible."""
    early, wanted = early_levels(graph, is_call), {}
    for node in reversed(graph.nodes):
        if node.op == "call_function" and not is_call(node) and node.users and not is_result(node):
            wanted[node] = min(wanted.get(user, early[user]) for user in node.users)
    final: dict[Node, int] = {}
    for node, level in reversed(wanted.items()):
        if level <= max([final.get(d, early[d]) + is_call(d) for d in node.all_input_nodes], default=0):
            continue
        kept = sum(bytes_of(d) for d in node.all_input_nodes if final.get(d, -1) < level and not outlives(d))
        if is_view(node) or kept < bytes_of(node):
            final[node] = level
    return final


def early_levels(graph: Graph, is_call: Callable[[Node], bool]) -> dict[Node, int]:
    """The level of the segment, or of the calls after it, in which a node can be computed first."""
    levels: dict[Node, int] = {}
    for node in graph.nodes:
        levels[node] = max([levels[d] + is_call(d) for d in node.all_input_nodes], default=0)
    return levels


def is_result(node: Node) -> bool:
    return any(user.op == "output" for user in node.users)


def outlives(node: Node) -> bool:
    """Whether the caller holds the value anyway: parameters, inputs of the user's function, constants."""
    if node.op == "placeholder":
        return node.name.startswith(("arg", "primals"))
    return node.op == "get_attr"


def bytes_of(node: Node) -> int:
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return sum(math.prod(hint_of(s) for s in v.shape) * v.element_size() for v in values if isinstance(v, torch.Tensor))
