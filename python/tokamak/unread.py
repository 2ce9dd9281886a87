"""Divisions of integers and picks by index whose results nobody reads.

Tracing leaves out what nobody reads, but eager raises where a divisor is zero or an index out of range. So in what
Dynamo captured, where such ops still are, their results are marked as reached: their checks are kept by that, and
nothing else is computed.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

aten = torch.ops.aten

library = torch.library.Library("tokamak", "DEF")
library.define("reached(Tensor x) -> Tensor")


@torch.library.impl(library, "reached", "CompositeExplicitAutograd")
def reached(x: torch.Tensor) -> torch.Tensor:
    """True, once `x` is there."""
    return torch.ones((), dtype=torch.bool, device=x.device)


REACHED = torch.ops.tokamak.reached.default
DIVISIONS = {"floordiv", "mod", "ifloordiv", "imod", "floor_divide", "remainder", "fmod", "div", "divide"}
PICKS = {
    "getitem", "setitem", "index", "gather", "index_select", "take", "take_along_dim", "embedding", "scatter",
    "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "put",
    "embedding_bag", "nll_loss", "cross_entropy",
}  # fmt: skip
IN_PLACE = {"setitem", "ifloordiv", "imod"}
VIEWS = {"getitem", "view", "select", "narrow", "transpose", "permute", "unsqueeze", "squeeze", "expand", "reshape"}
SHAPES = {"size", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"}
"""Methods that read nothing of a tensor but its shape and dtype."""


def keep_unread_checks(module: GraphModule) -> None:
    """Changes the graph in place, and those of bodies that are checkpointed."""
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.tag_activation_checkpoint):
        keep_unread_checks(getattr(module, node.args[0].target))
    suspects = [node for node in module.graph.nodes if divides(node) or picks(node)]
    if not suspects:
        return
    read, pending = set(), [node for node in module.graph.nodes if node.op == "output"]
    while pending:
        node = pending.pop()
        inputs = inputs_of(node)
        pending += [n for n in inputs if n not in read]
        read.update(inputs)
    for node in suspects:
        if not is_read(node, read):
            mark_reached(module.graph, node)
    module.recompile()


def inputs_of(node: Node) -> list[Node]:
    """The nodes whose elements it may read."""
    only_shape = node.op == "call_method" and node.target in SHAPES
    return [n for n in node.all_input_nodes if not (only_shape and n is node.args[0])]


def is_read(node: Node, read: set[Node]) -> bool:
    """Whether anyone reads the result; where it is not sure that someone does, nobody does."""
    if node in read:
        return True
    if not is_in_place(node):
        return False
    changed = node.args[0]
    return owner(changed).op == "placeholder" or any(
        user in read or user.op == "output" for user in changed.users if node < user
    )


def owner(node: Node) -> Node:
    """What a view is a view of."""
    while name_of(node) in VIEWS and node.args and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def name_of(node: Node) -> str:
    """`add` for `torch.add`, `x.add` and `aten.add.Tensor`, `add_` for `x.add_`."""
    if node.op == "call_method":
        return str(node.target)
    target = getattr(node.target, "overloadpacket", node.target)
    return getattr(target, "__name__", "") if node.op == "call_function" else ""


def is_in_place(node: Node) -> bool:
    name = name_of(node)
    return (name in IN_PLACE or name.endswith("_")) and bool(node.args) and isinstance(node.args[0], Node)


def divides(node: Node) -> bool:
    """Whether this divides integers on the CPU, by a tensor's or by a zero."""
    if name_of(node).removesuffix("_") not in DIVISIONS:
        return False
    result, divisor = value_of(node), node.args[1] if len(node.args) > 1 else node.kwargs.get("other")
    tensor = isinstance(value_of(divisor), torch.Tensor)
    return is_whole(result) and (tensor or (type(divisor) is int and divisor == 0))


def picks(node: Node) -> bool:
    """Whether this reads or writes elements on the CPU where integers say."""
    name = name_of(node)
    if name.removesuffix("_") not in PICKS:
        return False
    picked = node.args[0] if node.args and not name.startswith("embedding") else None
    values = [value_of(n) for n in node.all_input_nodes if n is not picked]
    return any(is_whole(value) and value.dtype is not torch.bool for value in values)


def value_of(x: Any) -> Any:
    return x.meta.get("example_value") if isinstance(x, Node) else x


def is_whole(x: Any) -> bool:
    """Whether this is a tensor of integers or bools on the CPU."""
    return isinstance(x, torch.Tensor) and not (x.is_floating_point() or x.is_complex()) and x.device.type == "cpu"


def mark_reached(graph: torch.fx.Graph, node: Node) -> None:
    with graph.inserting_before(node.next):
        result = node.args[0] if is_in_place(node) else node
        if isinstance(value_of(result), tuple):
            result = graph.call_function(operator.getitem, (result, 0))
        result = graph.call_method("detach", (result,))
        flag = graph.call_function(REACHED, (result,))
        graph.call_function(torch._assert_async, (flag, "never"))


def keeps_checks(node: Node) -> bool:
    """Whether this node of an ATen graph says nothing but that what it names is reached."""
    return node.target is aten._assert_async.msg and node.args[0].target is REACHED
