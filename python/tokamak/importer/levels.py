"""How late a node may be computed.

A node is ready as soon as its operands are, but what it makes then waits in memory for its readers. In a graph with
calls between segments that can be long: the biases of all attention layers, or everything that a backward pass
recomputes, would be made first and kept. A node goes down to the level of its first reader where that keeps fewer
bytes alive: its result is larger than the operands that live on for its sake, and for nobody else's.

What one segment would store for another alone is computed in both where it is pointwise work on operands that the
other finds in memory anyway: the output of a norm that an activation reads, and later that activation's gradient.
"""

from __future__ import annotations

import functools
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
        waiting = (d for d in node.all_input_nodes if final.get(d, -1) < level and not outlives(d))
        kept = sum(bytes_of(d) for d in waiting if not is_result(d) and last_reader(d, node, early, is_view) < level)
        if is_view(node) or kept < bytes_of(node):
            final[node] = level
    return final


def last_reader(node: Node, but: Node | None, levels: dict[Node, int], is_view: Callable[[Node], bool]) -> int:
    """The level of the last reader of a value, or of a view of it, one left out."""
    readers = (user for user in node.users if user is not but)
    return max((last_reader(u, None, levels, is_view) if is_view(u) else levels[u] for u in readers), default=-1)


CHAIN = 12  # nodes that are computed again for one value
WORTH = 64 << 10  # bytes of a value that is worth it


def computed_again(
    graph: Graph,
    late: dict[Node, int],
    is_call: Callable[[Node], bool],
    is_view: Callable[[Node], bool],
    is_cheap: Callable[[Node], bool],
) -> set[Node]:
    """The nodes that every segment that reads them computes for itself; all are cheap."""
    levels = early_levels(graph, is_call) | late
    found: set[Node] = set()
    for node in graph.nodes:
        readers = [levels[user] for user in node.users if user.op != "output" and levels[user] > levels[node]]
        if not readers or is_result(node) or bytes_of(node) < WORTH or any(map(is_call, node.users)):
            continue
        small = bytes_of(node) // 8
        lives = functools.partial(reaches, level=max(readers), small=small, levels=levels, is_view=is_view)
        found |= chain_to(node, lives, is_cheap)
    return found


def reaches(node: Node, but: Node, level: int, small: int, levels: dict[Node, int], is_view: Callable) -> bool:
    """Whether a value is there at a level whether or not one node reads it, or costs too little to matter."""
    there = outlives(node) or is_result(node) or last_reader(node, but, levels, is_view) >= level
    return there or (bytes_of(node) <= small and not is_view(node))


def chain_to(node: Node, lives: Callable[[Node, Node], bool], is_cheap: Callable[[Node], bool]) -> set[Node]:
    """The nodes that have to be computed again for one; empty where an operand would have to live on for it."""
    chain, left = set(), [node]
    while left:
        made = left.pop()
        if not is_cheap(made) or len(chain) == CHAIN:
            return set()
        chain.add(made)
        left += [d for d in made.all_input_nodes if d not in chain and not lives(d, made)]
    return chain


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
