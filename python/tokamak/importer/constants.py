"""Tensors held by the graph that kernels read, though they are small enough to be part of them.

Functions of constants are folded, and rounded once, where kernels compute the same functions to an ulp. A program that
divides log(x) by log(c), c a tensor, and rounds up tells the difference where x = c: both have to be computed alike.
"""

from __future__ import annotations

import torch
from torch.fx import Graph, Node

aten = torch.ops.aten

INEXACT = {
    *(getattr(aten, name).default for name in (
        "exp exp2 expm1 log log2 log10 log1p rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf "
        "erfc sigmoid gelu silu softplus atan2 log_sigmoid_forward _softmax _log_softmax"
    ).split()),
    aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar,
}  # fmt: skip


def read_when_run(graph: Graph) -> set[Node]:
    """The tensors of which a function would be folded that kernels compute otherwise."""
    held: dict[Node, set[Node]] = {}  # what is computed of such tensors alone, and of which
    found: set[Node] = set()
    for node in graph.nodes:
        inputs = node.all_input_nodes
        if node.op == "get_attr":
            held[node] = {node}
        elif node.op == "call_function" and all(i in held for i in inputs):
            held[node] = set().union(*(held[i] for i in inputs))
            if node.target in INEXACT:
                found |= held[node]
    return found
