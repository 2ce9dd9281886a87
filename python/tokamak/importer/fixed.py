"""Integers, truths and picked numbers that depend on nothing but sizes: computed once, when the graph is compiled.

Masks and positions of a static shape are the same at every call. What kernels compute of counted positions where they
need it costs nothing and is left to them; a running sum, a pick or a concatenation would be a kernel of its own:

    (arange(n) != 0).cumsum(0)[arange(n)]    // one tensor, made when the graph is compiled

Floating-point numbers are left to kernels, which round them as they do those of other tensors, unless they are picked
and nothing else: an attention's `where(mask, 0, -inf)`.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, Node

from tokamak.norm_outputs import is_pointwise

from .calls import is_function
from .views import VIEWS

aten = torch.ops.aten
KEPT = 1 << 20  # bytes of a tensor that is kept
COMPUTED = 1 << 22  # elements of one that is computed on the way
PICKING = {aten.where.self, aten.scalar_tensor.default, aten.full.default, aten.clone.default, *VIEWS}


def fixed_values(graph: Graph) -> dict[Node, torch.Tensor | None]:
    """Of the nodes that need not run: their values on the CPU, or None where only others of them read it."""
    fixed: set[Node] = set()
    dear: set[Node] = set()
    for node in graph.nodes:
        if node.op == "call_function" and all(i in fixed for i in node.all_input_nodes) and is_countable(node):
            fixed.add(node)
            if any(i in dear for i in node.all_input_nodes) or is_dear(node):
                dear.add(node)
    if not dear:
        return {}
    seen = seen_by_caller(graph)
    kept: list[Node] = []
    spared: set[Node] = set()
    for node in reversed(graph.nodes):
        if node not in fixed:
            continue
        if node.users and all(user in spared for user in node.users):
            spared.add(node)
        elif node in dear and node.target not in VIEWS and node not in seen and is_small(node):
            spared.add(node)
            kept.append(node)
    values = computed(graph, kept)
    return {node: values.get(node) for node in spared} if values else {}


def is_countable(node: Node) -> bool:
    """Whether a call gives one tensor, exact and the same every time, and changes nothing."""
    fake = node.meta.get("val")
    if not is_function(node.target) or not isinstance(fake, torch.Tensor):
        return False
    if type(fake.numel()) is not int or fake.numel() > COMPUTED:
        return False
    exact = node.target in PICKING or not fake.is_floating_point()
    return fake.layout == torch.strided and exact and not fake.is_complex()


def is_dear(node: Node) -> bool:
    """Whether no kernel that reads the operands has the result for nothing."""
    return bool(node.all_input_nodes) and node.target not in VIEWS and not is_pointwise(node)


def is_small(node: Node) -> bool:
    return node.meta["val"].numel() * node.meta["val"].element_size() <= KEPT


def seen_by_caller(graph: Graph) -> set[Node]:
    """What the caller gets to see, or a view of it, and may change."""
    seen: set[Node] = set()
    for node in reversed(graph.nodes):
        if node.op == "output" or (node in seen and may_share(node)):
            seen.update(node.all_input_nodes)
    return seen


def may_share(node: Node) -> bool:
    """Whether what a node gives may lie in its operands' memory."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return target is operator.getitem
    return target in VIEWS or any(given.alias_info is not None for given in target._schema.returns)


def laid_as(value: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    """The same elements where, and in the order in which, the graph has them."""
    if value.device == fake.device and value.stride() == fake.stride():
        return value
    with unset_fake_temporarily():
        place = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device)
        return place.copy_(value)


def computed(graph: Graph, kept: list[Node]) -> dict[Node, torch.Tensor]:
    """Their values; none at all where eager refuses to compute one, so that the call raises what eager does."""
    waiting, needed = list(kept), set(kept)
    while waiting:
        for node in waiting.pop().all_input_nodes:
            if node not in needed:
                needed.add(node)
                waiting.append(node)
    readers = {node: sum(user in needed for user in node.users) for node in needed}
    values: dict[Node, Any] = {}
    lasting = set(kept)
    for node in graph.nodes:
        if node not in needed:
            continue
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
        if kwargs.get("device") is not None:
            kwargs = {**kwargs, "device": torch.device("cpu")}
        try:
            with unset_fake_temporarily(), torch.no_grad():
                values[node] = node.target(*args, **kwargs)
        except (RuntimeError, IndexError, ValueError, TypeError):
            return {}
        for operand in node.all_input_nodes:
            readers[operand] -= 1
            if not readers[operand] and operand not in lasting:
                del values[operand]
    return values
