"""Numbers that a program for a GPU keeps in the host's memory: they become part of the program.

`mask[a:b] = 3` holds its 3 in a tensor of the CPU, which every call would copy to the device; and a graph with such a
copy in it cannot be recorded as a CUDA graph.
"""

from __future__ import annotations

import torch
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx import GraphModule, Node

from .importer.tensors import device_of
from .rewriting import call

aten = torch.ops.aten
COPIES = (aten.lift_fresh_copy.default, aten.lift_fresh.default, aten.clone.default)


def take_in(module: GraphModule) -> None:
    """Rewrites the graph in place."""
    device = device_of(module)
    if device.type != "cuda":
        return
    fake = detect_fake_mode([node.meta.get("val") for node in module.graph.nodes])
    for node in module.graph.find_nodes(op="get_attr"):
        value = getattr(module, str(node.target), None)
        if is_number(value) and (readers := read_on(device, node)):
            with unset_fake_temporarily():
                number = value.item()
            with module.graph.inserting_before(node), fake:
                full = call(module.graph, aten.full.default, [], number, dtype=value.dtype, device=device)
            for reader in readers:
                reader.replace_all_uses_with(full)
    module.graph.eliminate_dead_code()


def is_number(value: object) -> bool:
    if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
        return False
    return value.dim() == 0 and value.device.type == "cpu" and not value.dtype.is_complex


def read_on(device: torch.device, node: Node) -> list[Node]:
    """The node and its copies, if only work on the device reads them; else none."""
    found = [node]
    for user in node.users:
        if user.target in COPIES:
            if not (copies := read_on(device, user)):
                return []
            found += copies
        elif not isinstance(result := user.meta.get("val"), torch.Tensor) or result.device != device:
            return []
    return found
