"""Convolutions of single pixels on a GPU, as in squeeze and excitation: they are products.

A matrix product of halves is launched by our own plan, with the bias and a ReLU behind it fused in, where cuDNN's
convolution costs a step through ATen and a kernel for bias and activation.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from .decompositions import HALVES
from .rewriting import call

aten = torch.ops.aten


def make_products(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    for node in module.graph.find_nodes(op="call_function", target=aten.convolution.default):
        if is_product(node):
            rewrite(module, node)


def is_product(node: Node) -> bool:
    """One pixel in, one weight for each pair of channels, one pixel out."""
    x, weight, _, _, padding, _, transposed, _, groups = node.args
    image, kernel = x.meta["val"], weight.meta["val"]
    if image.device.type != "cuda" or image.dtype not in HALVES or kernel.dtype != image.dtype:
        return False
    if transposed or groups != 1 or any(not isinstance(p, int) or p for p in padding):
        return False
    return all(isinstance(n, int) and n == 1 for n in (*image.shape[2:], *kernel.shape[2:]))


def rewrite(module: GraphModule, node: Node) -> None:
    graph, (x, weight, bias, *_) = module.graph, node.args
    batch, channels = x.meta["val"].shape[:2]
    with graph.inserting_before(node):
        rows = call(graph, aten.reshape.default, x, [batch, channels])
        matrix = call(graph, aten.reshape.default, weight, [weight.meta["val"].shape[0], channels])
        turned = call(graph, aten.permute.default, matrix, [1, 0])
        if bias is None:
            total = call(graph, aten.mm.default, rows, turned)
        else:
            total = call(graph, aten.addmm.default, bias, rows, turned)
        pixels = call(graph, aten.reshape.default, total, list(node.meta["val"].shape))
    node.replace_all_uses_with(pixels)
    graph.erase_node(node)
