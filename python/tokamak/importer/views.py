"""Views: ops that give another look at a tensor's memory, and results of a graph that are views.

Segments compute views as values of their own, which costs nothing where they are read. A result that the caller sees is
another matter: in eager two views of one tensor share memory, and a view with gaps or repeats has strides that no dense
tensor has. Such results are made as views of what they are views of, stored once.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import torch
from torch._guards import TracingContext
from torch.fx import Node

from tokamak import _ext

from .dims import memory_order
from .tensors import plain

if TYPE_CHECKING:
    from .entries import Entry
    from .graph import Importer

aten = torch.ops.aten
VIEWS = {
    aten.view.default: aten.reshape.default, aten._unsafe_view.default: aten.reshape.default,
    aten.reshape.default: aten.reshape.default, aten.alias.default: aten.alias.default,
    aten.detach.default: aten.detach.default, aten.t.default: aten.t.default,
    **{op: op for op in (
        aten.permute.default, aten.transpose.int, aten.expand.default, aten.slice.Tensor, aten.select.int,
        aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default, aten.unsqueeze.default, aten.diagonal.default,
        aten.as_strided.default, aten.unfold.default, aten.view.dtype)},
}  # fmt: skip
"""Ops that give another view of their first argument, and the call that does it whatever the strides are."""


PRODUCTS = {aten.mm.default, aten.bmm.default, aten.addmm.default}


try:  # a third of the cost of as_strided
    from torch._C._dynamo.guards import _reinterpret_tensor as reinterpret
except ImportError:

    def reinterpret(tensor: torch.Tensor, size: tuple, stride: tuple, offset: int) -> torch.Tensor:
        return tensor.as_strided(size, stride, tensor.storage_offset() + offset)


def direct_view(importer: Importer, entry: Entry) -> tuple[Entry, tuple] | None:
    """A view, however many views lie between, as (tensor, (size, stride, offset from the tensor's own)).

    None where a stride is not known for sure: of arguments Dynamo's guards know them, of products ATen does.
    """
    root = entry
    while root.base is not None:
        root = root.base
    if root.node is None or root.slot is None or importer.name == "backward":
        return None
    if root.node.op != "placeholder" and root.node.target not in PRODUCTS and root.node not in importer.ends:
        return None
    view, whole = entry.fake, root.fake
    place = (tuple(view.shape), tuple(view.stride()), view.storage_offset() - whole.storage_offset())
    known = [*place[0], *place[1], place[2], *whole.shape, *whole.stride()]
    if view.dtype != whole.dtype or whole.is_neg() or not all(isinstance(n, int) for n in known):
        return None
    return root, place


def strided_argument(importer: Importer, node: Node, level: int, shares: bool = False) -> Any:
    """A call's argument with eager's strides: a view of what is stored dense is made by a call just before. One that
    `shares` is a view of the same memory in any case."""
    entry = importer.entries[node]
    view = (shares or entry.slot is None) and node.target in VIEWS and isinstance(entry.fake, torch.Tensor)
    dense = not shares and view and memory_order(entry.fake) is not None
    if not view or entry.base is not None or entry.home is None or dense:
        return importer.argument(node) if shares else importer.read_argument(node)
    first = strided_argument(importer, node.all_input_nodes[0], level, shares)
    args = (first, *torch.fx.map_arg(node.args[1:], importer.argument))
    kwargs = torch.fx.map_arg(dict(node.kwargs), importer.argument) or None
    slot = importer.new_slot()
    importer.after.setdefault(level, []).append(("call", VIEWS[node.target], plain(args), plain(kwargs), slot))
    return _ext.Slot(slot)


def root_of(node: Node) -> Node:
    while node.target in VIEWS:
        node = node.args[0]
    return node


def seen_results(kind: str) -> int | None:
    """How many results of a graph its caller sees, the first ones; none: all. A forward pass gives more, for later."""
    if kind != "forward":
        return None if kind == "inference" else 0
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    return metadata.num_forward_returns if metadata else 0


def make_result_views(importer: Importer, results: list[Any]) -> None:
    """Gives the results that have to be views their places, by calls after the segment that stores their root."""
    nodes = {n for n in results if isinstance(n, Node) and isinstance(importer.entries[n].fake, torch.Tensor)}
    readers = collections.Counter(map(root_of, nodes))
    made: set[Node] = set()
    for node in results:
        if node not in nodes or node.target not in VIEWS or node in made:
            continue
        entry, root = importer.entries[node], importer.entries[root_of(node)]
        computed = root.home is not None and entry.home is not None and entry.base is None
        shared = readers[root_of(node)] > 1 or memory_order(entry.fake) is None
        if computed and shared and entry.fake.dtype == root.fake.dtype:
            add_view(importer, node, entry, root, made)


def add_view(importer: Importer, node: Node, entry: Entry, root: Entry, made: set[Node]) -> None:
    """Also where calls read a copy of it, which has a slot by now. `made`: the nodes whose slots are views already."""
    place = [*entry.fake.shape, *entry.fake.stride(), entry.fake.storage_offset(), root.fake.storage_offset()]
    if all(isinstance(n, int) for n in place) and memory_order(root.fake) is not None:
        offset = entry.fake.storage_offset() - root.fake.storage_offset()
        args = (_ext.Slot(importer.slot_of(root)), list(entry.fake.shape), list(entry.fake.stride()), offset)
        add_call(importer, entry, torch.as_strided, args, None)
        made.add(node)
        return
    for step in reversed(chain_to(node)):
        if step not in made:
            args, kwargs = torch.fx.map_arg((tuple(step.args), dict(step.kwargs)), importer.argument)
            add_call(importer, importer.entries[step], VIEWS[step.target], plain(args), plain(kwargs) or None)
            made.add(step)


def chain_to(node: Node) -> list[Node]:
    """The views from this one up to its root, which is left out."""
    chain = []
    while node.target in VIEWS:
        chain.append(node)
        node = node.args[0]
    return chain


def add_call(importer: Importer, entry: Entry, function: Any, args: tuple, kwargs: dict | None) -> None:
    entry.slot = importer.new_slot()
    importer.after.setdefault(entry.level, []).append(("call", function, args, kwargs, entry.slot))
