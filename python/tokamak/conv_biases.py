"""A convolution's bias on a GPU: added by our kernel that comes next, its gradient summed by the one that comes before.

cuDNN is not given the bias: ATen adds it by a kernel of its own that reads and writes the whole result. Where a kernel
of ours reads the result anyway it adds the bias on its way. The bias's gradient is a sum of what such a kernel makes,
taken before it is rounded to halves: behind a batch norm it would else be a sum of roundings, for its true value is
zero.
"""

from __future__ import annotations

import operator

import torch
from torch.fx import GraphModule, Node

from .importer.views import VIEWS
from .lowering import registry
from .rewriting import ROUNDED, call

aten = torch.ops.aten
NORMS = (aten.native_batch_norm_backward.default, aten.batch_norm_backward.default)
CALLED = (aten.convolution.default, aten.mm.default, aten.addmm.default, aten.bmm.default)


def split_biases(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    for node in module.graph.find_nodes(op="call_function", target=aten.convolution.default):
        if node.meta["val"].device.type == "cuda" and node.args[2] is not None and read_by_kernels(node):
            split(module, node)
    for node in module.graph.find_nodes(op="call_function", target=aten.convolution_backward.default):
        if node.args[0].meta["val"].device.type == "cuda" and node.args[10][2] and is_summed(node.args[0]):
            sum_gradient(module, node)


def is_summed(gradient: Node) -> bool:
    """Whether the kernel that makes it can sum it on its way, which it can where channels come last, or should."""
    behind_norm = gradient.target is operator.getitem and gradient.args[0].target in NORMS
    return is_ours(gradient) and (gradient.meta["val"].stride(1) == 1 or behind_norm)


def read_by_kernels(node: Node) -> bool:
    """Whether kernels of ours read a value that the caller does not get to see."""
    users = readers(node)
    # A result that stays is not copied for its bias: in place, as ATen adds it, takes less memory.
    return any(map(is_ours, users)) and not any(user.op == "output" for user in users)


def readers(node: Node) -> list[Node]:
    """Who reads a value or views of it."""
    return [r for user in node.users for r in (readers(user) if user.target in VIEWS else [user])]


def is_ours(node: Node) -> bool:
    if node.target is operator.getitem:
        return is_ours(node.args[0])
    lowering = registry.find(node.target)
    return node.target not in CALLED and lowering is not None and lowering.leaves(node) is None


def split(module: GraphModule, node: Node) -> None:
    graph, (x, weight, bias, *rest) = module.graph, node.args
    ones = [1] * (node.meta["val"].dim() - 2)
    with graph.inserting_before(node):
        alone = graph.call_function(aten.convolution.default, (x, weight, None, *rest))
        column = call(graph, aten.view.default, bias, [bias.meta["val"].shape[0], *ones])
        total = graph.call_function(aten.add.Tensor, (alone, column))
    alone.meta["val"] = total.meta["val"] = node.meta["val"]
    total.meta[ROUNDED] = node.meta.get(ROUNDED, False)
    node.replace_all_uses_with(total)
    graph.erase_node(node)


def sum_gradient(module: GraphModule, node: Node) -> None:
    graph, (gradient, *given, mask) = module.graph, node.args
    folded = [axis for axis in range(gradient.meta["val"].dim()) if axis != 1]
    for user in list(node.users):
        if user.target is operator.getitem and user.args[1] == 2:
            with graph.inserting_before(node):
                total = call(graph, aten.sum.dim_IntList, gradient, folded)
            user.replace_all_uses_with(total)
            graph.erase_node(user)
    given[2] = None  # the bias's sizes
    node.args = (gradient, *given, [*mask[:2], False])
    if not any(mask[:2]):
        graph.erase_node(node)
