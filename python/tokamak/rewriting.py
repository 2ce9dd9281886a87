"""New nodes in ATen graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node


def call(graph: Graph, target: Callable, *args: Any) -> Node:
    """A call at the graph's insertion point, with the value that it gives of fake tensors."""
    node = graph.call_function(target, args)
    node.meta["val"] = target(*torch.fx.map_arg(args, lambda n: n.meta["val"]))
    return node
