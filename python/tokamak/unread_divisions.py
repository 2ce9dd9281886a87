"""Divisions of integers whose quotients nobody reads.

Tracing leaves out what nobody reads, but eager raises where a divisor is zero. So the check alone is kept, in what
Dynamo captured, where such divisions still are.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

aten = torch.ops.aten

FUNCTIONS = {
    operator.floordiv, operator.mod, operator.ifloordiv, operator.imod, torch.floor_divide, torch.remainder, torch.fmod,
    torch.div, torch.divide, aten.floor_divide, aten.remainder, aten.fmod, aten.div, aten.divide,
}  # fmt: skip
METHODS = {"floor_divide", "remainder", "fmod", "div", "divide"}
IN_PLACE = {operator.ifloordiv, operator.imod, *(name + "_" for name in METHODS)}
SHAPES = {"size", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"}
"""Methods that read nothing of a tensor but its shape and dtype."""


def check_unread_divisors(module: GraphModule) -> None:
    """Changes the graph in place."""
    graph, read = module.graph, set()
    suspects = [node for node in graph.nodes if divides(node)]
    if not suspects:
        return
    pending = [node for node in graph.nodes if node.op == "output"]
    while pending:
        node = pending.pop()
        inputs = inputs_of(node)
        pending += [n for n in inputs if n not in read]
        read.update(inputs)
    for node in suspects:
        if not is_read(node, read):
            check(graph, node)
    module.recompile()


def inputs_of(node: Node) -> list[Node]:
    """The nodes whose elements it may read."""
    only_shape = node.op == "call_method" and node.target in SHAPES
    return [n for n in node.all_input_nodes if not (only_shape and n is node.args[0])]


def is_read(node: Node, read: set[Node]) -> bool:
    """Whether anyone reads the quotients; where it is not sure that there are any, nobody does."""
    if node in read:
        return True
    return is_in_place(node) and any(user in read or user.op == "output" for user in node.args[0].users if node < user)


def is_in_place(node: Node) -> bool:
    return node.target in IN_PLACE


def divides(node: Node) -> bool:
    """Whether this divides integers on the CPU, by a tensor's or by a zero."""
    names = {"call_function": FUNCTIONS, "call_method": METHODS | IN_PLACE}.get(node.op, ())
    if getattr(node.target, "overloadpacket", node.target) not in names:
        return False
    result, divisor = node.meta.get("example_value"), divisor_of(node)
    if not isinstance(result, torch.Tensor) or result.dtype.is_floating_point or result.dtype.is_complex:
        return False
    tensor = isinstance(divisor, Node) and isinstance(divisor.meta.get("example_value"), torch.Tensor)
    return (tensor or (type(divisor) is int and divisor == 0)) and result.device.type == "cpu"


def divisor_of(node: Node) -> Any:
    return node.args[1] if len(node.args) > 1 else node.kwargs.get("other")


def check(graph: torch.fx.Graph, node: Node) -> None:
    """Before it divides where that is in place, which may change the divisor; else after, where its shape is known."""
    place, shaped = (node, node.args[0]) if is_in_place(node) else (node.next, node)
    divisor = divisor_of(node)
    with graph.inserting_before(place):
        if isinstance(divisor, Node):
            nonzero = graph.call_method("expand_as", (graph.call_function(operator.ne, (divisor, 0)), shaped))
        else:
            nonzero = graph.call_function(torch.zeros_like, (shaped,), {"dtype": torch.bool})
        graph.call_function(torch._assert_async, (graph.call_method("all", (nonzero,)), "ZeroDivisionError"))
