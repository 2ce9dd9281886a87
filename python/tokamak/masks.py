"""Masks of attention that keep torch from its fused kernels.

Models that are traced make a mask even where nothing is hidden: a comparison of positions, broadcast to all queries and
keys. A mask whose last axis is broadcast is one that no fused kernel on a GPU takes, so torch would compute all scores
in f32. A mask of constants that hides nothing is left out; another one is stored whole.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

ATTENTION = torch._C._nn.scaled_dot_product_attention
PLACE = 3  # of the mask among the arguments
KNOWN = {
    "arange", "ones", "full", "zeros", "ge", "gt", "le", "lt", "eq", "ne", "add", "sub", "and_", "or_", "invert",
    "logical_and", "logical_or", "logical_not", "expand", "unsqueeze", "view", "reshape", "getitem", "to", "tril",
    "triu",
}  # fmt: skip
"""Functions and methods of constants that may be computed while compiling: nothing random, nothing in place."""

ELEMENTS = 1 << 24  # up to which a mask is looked at


def ease_masks(module: GraphModule) -> None:
    """Changes the masks of Dynamo's graph."""
    idle: dict[Node, list[Node]] = {}  # masks that hide nothing, and what they are computed from
    changed = False
    for attention in module.graph.find_nodes(op="call_function", target=ATTENTION):
        mask = mask_of(attention)
        if mask is None:
            continue
        if mask not in idle and (nodes := sources(mask)) and hides_nothing(mask, nodes):
            idle[mask] = nodes
        if mask in idle:
            set_mask(attention, None)
            changed = True
        elif is_broadcast(mask.meta.get("example_value")):
            with module.graph.inserting_before(attention):
                whole = module.graph.call_method("contiguous", (mask,))
            set_mask(attention, whole)
            changed = True
    for nodes in idle.values():
        for node in reversed(nodes):
            if not node.users and not node._erased:
                module.graph.erase_node(node)
    if changed:
        module.recompile()


def mask_of(attention: Node) -> Node | None:
    mask = attention.args[PLACE] if len(attention.args) > PLACE else attention.kwargs.get("attn_mask")
    return mask if isinstance(mask, Node) else None


def set_mask(attention: Node, mask: Node | None) -> None:
    if len(attention.args) > PLACE:
        attention.update_arg(PLACE, mask)
    else:
        attention.update_kwarg("attn_mask", mask)


def is_broadcast(mask: object) -> bool:
    """Whether this is a mask on a GPU with one element for all keys."""
    if not isinstance(mask, torch.Tensor) or mask.device.type != "cuda" or mask.dim() == 0:
        return False
    return isinstance(mask.stride(-1), int) and mask.stride(-1) == 0


def hides_nothing(mask: Node, nodes: list[Node]) -> bool:
    """Whether a mask that is computed by these nodes is true everywhere."""
    if not is_small(mask.meta.get("example_value")):
        return False
    try:
        with unset_fake_temporarily(), torch.no_grad():
            return bool(value_of(mask, nodes).all())
    except Exception:  # whatever it is, it is the program's to raise, when it runs
        return False


def value_of(last: Node, nodes: list[Node]) -> torch.Tensor:
    values: dict[Node, Any] = {}
    for node in nodes:
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
        self, *rest = args if node.op == "call_method" else (None, *args)
        function = node.target if self is None else getattr(self, str(node.target))
        values[node] = function(*rest, **kwargs)
    return values[last]


def is_small(mask: object) -> bool:
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        return False
    return all(isinstance(size, int) for size in mask.shape) and 0 < mask.numel() <= ELEMENTS


def sources(mask: Node) -> list[Node] | None:
    """What the mask is computed from, in order, if that is constants alone that nobody else has in hand."""
    nodes = {mask}
    for node in reversed(mask.graph.nodes):
        if node in nodes:
            nodes.update(node.all_input_nodes)
    if not all(map(is_known, nodes)):
        return None
    if not all(user in nodes or reads_mask(user, mask) for node in nodes for user in node.users):
        return None
    return [node for node in mask.graph.nodes if node in nodes]


def is_known(node: Node) -> bool:
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return node.op in ("call_function", "call_method") and name in KNOWN and "out" not in node.kwargs


def reads_mask(user: Node, mask: Node) -> bool:
    return user.target is ATTENTION and mask_of(user) is mask and mask not in user.args[:PLACE]
