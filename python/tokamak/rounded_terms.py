"""Halves that are rounded where a program in eager mode rounds them, though a kernel could keep them in f32.

What is added under a ReLU decides which elements let gradients through. Where the terms cancel, a rounding of one of
them changes the sign of the sum, and a kernel that skips it lets other elements through than eager: no more of them
wrong on the whole, but each shows in every gradient before it. So the terms keep their roundings:

    relu(batch_norm(x) + r)    // batch_norm(x) is rounded before it is added
"""

from __future__ import annotations

import operator

import torch
from torch.fx import GraphModule, Node

from .decompositions import HALVES
from .importer.views import VIEWS
from .rewriting import IMPLIED, ROUNDED

aten = torch.ops.aten
SUMS = (aten.add.Tensor, aten.sub.Tensor)


def round_terms(joint: GraphModule) -> None:
    """Marks the terms of sums that ReLUs read, in the joint graph of a forward and a backward pass."""
    for relu in joint.graph.find_nodes(op="call_function", target=aten.relu.default):
        total = relu.args[0]
        if total.target not in SUMS or total.meta["val"].dtype not in HALVES:
            continue
        for term in total.args[:2]:
            if isinstance(term, Node) and is_half(term):
                source = made_by(term)
                source.meta[ROUNDED] = True
                source.meta.pop(IMPLIED, None)


def made_by(node: Node) -> Node:
    """Whose result a node is, or is a view of."""
    while node.target in VIEWS or node.target is operator.getitem:
        node = node.args[0]
    return node


def is_half(node: Node) -> bool:
    return isinstance(value := node.meta.get("val"), torch.Tensor) and value.dtype in HALVES
