"""What depends on frozen weights and on nothing else: computed once, by eager, when the graph is compiled.

A weight norm, a table of position biases, a sum of weights: with the weights they are as constant as those. Sums are
added up in f64: decomposed ops call for sums that eager's own kernels make with more care than its `sum` does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, Node

from .calls import is_function
from .fixed import seen_by_caller
from .views import VIEWS

aten = torch.ops.aten

SUMS = {
    aten.sum.default,
    aten.sum.dim_IntList,
    aten.mean.default,
    aten.mean.dim,
    aten.var.correction,
    aten.linalg_vector_norm.default,
}
SMALL = 1 << 20  # bytes that a result may have whatever it was computed from


def known_values(graph: Graph, weights: dict[Node, torch.Tensor]) -> dict[Node, torch.Tensor | None]:
    """Of the nodes that need not run: their values, or None where only others of them read it.

    Views of weights are not among them, since kernels read through views, nor are results, which are the caller's to
    change, nor what is much larger than what it is computed from.
    """
    if not weights:
        return {}
    known = {*weights}
    from_weights: dict[Node, int] = {node: tensor.nbytes for node, tensor in weights.items()}
    for node in graph.nodes:
        inputs = node.all_input_nodes
        if is_pure(node) and all(i in known for i in inputs):
            known.add(node)
            if size := sum(from_weights.get(i, 0) for i in inputs):
                from_weights[node] = size
    seen = seen_by_caller(graph)
    done = {n for n, size in from_weights.items() if n not in weights and n not in seen and is_worth_it(n, size)}
    values = Values(weights)
    return {n: values.of(n) if any(r not in done for r in n.users) else None for n in done}


def is_pure(node: Node) -> bool:
    """Whether a call gives one tensor, with the same elements every time, and changes nothing."""
    fake = node.meta.get("val")
    if node.op != "call_function" or not is_function(node.target):
        return False
    return isinstance(fake, torch.Tensor) and fake.layout == torch.strided and fake.device.type == "cpu"


def is_worth_it(node: Node, size: int) -> bool:
    fake = node.meta["val"]
    elements = fake.numel()
    small = isinstance(elements, int) and elements * fake.element_size() <= max(SMALL, 2 * size)
    return small and node.target not in VIEWS


class Values:
    """Values of known nodes, each computed when it is first asked for."""

    def __init__(self, weights: dict[Node, torch.Tensor]):
        self.values: dict[Node, Any] = dict(weights)

    def of(self, node: Node) -> torch.Tensor:
        if node not in self.values:
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), self.of)
            with unset_fake_temporarily(), torch.no_grad():
                if node.target in SUMS and args[0].dtype == torch.float32:
                    self.values[node] = node.target(args[0].double(), *args[1:], **kwargs).to(node.meta["val"].dtype)
                else:
                    self.values[node] = node.target(*args, **kwargs)
        return self.values[node]
