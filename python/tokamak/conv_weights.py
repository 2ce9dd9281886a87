"""Gradients of small convolutions behind a batch norm, on a GPU in halves: taken in f32.

What a batch norm gives back has no mean and no correlation with its input, so that the sum over the image that a
filter's gradient is nearly cancels, and the roundings of the halves that go into it show. Kernels of ours have that
value in f32; where the convolution is small the call costs its launch, whatever the dtype.

    dx, dw = convolution_backward(dy, x, w)   =>   dx, dw = half(convolution_backward(float(dy), float(x), float(w)))
"""

from __future__ import annotations

import operator

import torch
from torch.fx import GraphModule, Node

from .conv_biases import is_behind_norm, is_ours
from .rewriting import IMPLIED, call

aten = torch.ops.aten
SMALL = 1 << 16  # elements of each operand
HALVES = (torch.float16, torch.bfloat16)


def widen_gradients(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    for node in module.graph.find_nodes(op="call_function", target=aten.convolution_backward.default):
        if is_small_half(node) and node.args[10][1] and is_ours(node.args[0]) and is_behind_norm(node.args[0]):
            widen(module, node)


def is_small_half(node: Node) -> bool:
    values = [operand.meta["val"] for operand in node.args[:3]]
    return all(
        v.device.type == "cuda" and v.dtype in HALVES and isinstance(v.numel(), int) and v.numel() <= SMALL
        for v in values
    )


def widen(module: GraphModule, node: Node) -> None:
    graph = module.graph
    with graph.inserting_before(node):
        operands = [cast(graph, operand, torch.float32) for operand in node.args[:3]]
        wide = call(graph, node.target, *operands, *node.args[3:])
    for user in list(node.users):
        with graph.inserting_before(user):
            part = call(graph, operator.getitem, wide, user.args[1])
            half = cast(graph, part, user.meta["val"].dtype)
        user.replace_all_uses_with(half)
        graph.erase_node(user)
    graph.erase_node(node)


def cast(graph: torch.fx.Graph, x: Node, dtype: torch.dtype) -> Node:
    node = call(graph, torch.ops.prims.convert_element_type.default, x, dtype)
    node.meta[IMPLIED] = True
    return node
