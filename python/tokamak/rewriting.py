"""New nodes in ATen graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node

IMPLIED = "tokamak_implied"  # in a node's meta: a cast that no program wrote, part of an op that was written out
ROUNDED = "tokamak_rounded"  # in a node's meta: a half that has its rounded value for everyone who reads it


def call(graph: Graph, target: Callable, *args: Any, **kwargs: Any) -> Node:
    """A call at the graph's insertion point, with the value that it gives of fake tensors."""
    node = graph.call_function(target, args, kwargs)
    values, named = torch.fx.map_arg((args, kwargs), lambda n: n.meta["val"])
    node.meta["val"] = target(*values, **named)
    return node
