"""Halves that are rounded where a program in eager mode rounds them, though a kernel could keep them in f32.

The sign of what a ReLU reads decides which gradients it lets through. A kernel that skips a rounding before it lets
other elements through than eager: no more of them wrong on the whole, but each shows in every gradient before it. So
in training whatever a function with a kink reads keeps its roundings, as far back as kernels of ours reach:

    relu(batch_norm(convolution(x) + bias) + r)    // the sum with the bias and the norm are rounded

What is compared with another tensor is rounded as well, else it may differ from itself where one kernel stored it:

    v == v.amax(-1, keepdim=True)
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from .decompositions import HALVES
from .importer.views import root_of
from .rewriting import IMPLIED, ROUNDED

aten = torch.ops.aten
KINKED = (
    aten.relu.default,
    aten.leaky_relu.default,
    aten.hardtanh.default,
    aten.hardswish.default,
    aten.hardsigmoid.default,
    aten.threshold.default,
)
COMPARISONS = (aten.eq.Tensor, aten.ne.Tensor, aten.lt.Tensor, aten.le.Tensor, aten.gt.Tensor, aten.ge.Tensor)
PRODUCTS = (aten.convolution.default, aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default)


def round_terms(joint: GraphModule) -> None:
    """Marks what functions with kinks read, in the joint graph of a forward and a backward pass."""
    waiting, seen = [], set()
    for target in KINKED:
        for node in joint.graph.find_nodes(op="call_function", target=target):
            if is_half(node.args[0]):
                waiting.append(node.args[0])
    while waiting:
        node = waiting.pop()
        if node in seen or node.op != "call_function":
            continue
        seen.add(node)
        round_half(node)
        if node.target not in PRODUCTS:
            waiting.extend(node.all_input_nodes)


def round_compared(module: GraphModule) -> None:
    """Marks halves that are compared with one another."""
    for target in COMPARISONS:
        for node in module.graph.find_nodes(op="call_function", target=target):
            for operand in node.all_input_nodes:
                computed = root_of(operand)
                if computed.op == "call_function":
                    round_half(computed)


def round_half(node: Node) -> None:
    """Marks a node that gives halves."""
    if is_half(node):
        node.meta[ROUNDED] = True
        node.meta.pop(IMPLIED, None)


def is_half(node: Node) -> bool:
    """Whether it gives halves, among others perhaps."""
    value = node.meta.get("val")
    given = value if isinstance(value, (tuple, list)) else (value,)
    return any(isinstance(one, torch.Tensor) and one.dtype in HALVES for one in given)
