"""Outputs of norms that the backward pass computes again instead of reading them.

The gradient of an activation behind a norm needs what the norm gave. Torch's partitioner computes no norm twice, since it
folds, and saves that: a tensor as large as the norm's input, which is saved too. Written out, all but the statistics is
pointwise work, and nothing is left to be saved but those:

    y, mean, rstd = native_layer_norm(x, ...)     y also stays as it is where a product or anything
    => m, r = mean(x), rsqrt(var(x) + eps)        but pointwise work reads it: it lies in memory then
       y = (x - m) * r * weight + bias

The statistics are those that the norm finds itself, before it rounds them, so fused they cost nothing.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

aten = torch.ops.aten
HALVES = (torch.float16, torch.bfloat16)


def spell_out_norms(joint: torch.fx.GraphModule) -> None:
    """Rewrites the joint graph of a forward and a backward pass in place."""
    for target, spelled in SPELLED.items():
        for norm in joint.graph.find_nodes(op="call_function", target=target):
            output = next((n for n in norm.users if n.target is operator.getitem and n.args[1] == 0), None)
            if output is None or not output.users or not all(map(is_pointwise, output.users)):
                continue
            with joint.graph.inserting_before(output):
                y = spelled(Writer(joint.graph), *norm.args)
            if y is not None:
                output.replace_all_uses_with(y)


def is_pointwise(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.pointwise in node.target.tags


class Writer:
    """Appends calls to a graph, with what they give as fake tensors."""

    def __init__(self, graph: torch.fx.Graph):
        self.graph = graph

    def __call__(self, target: Any, *args: Any, **kwargs: Any) -> torch.fx.Node:
        node = self.graph.call_function(target, args, kwargs)
        real = torch.fx.map_arg((args, kwargs), lambda n: n.meta["val"])
        node.meta["val"] = target(*real[0], **real[1])
        return node

    def widened(self, x: torch.fx.Node) -> torch.fx.Node:
        half = x.meta["val"].dtype in HALVES
        return self(torch.ops.prims.convert_element_type.default, x, torch.float32) if half else x

    def normal(self, x: torch.fx.Node, axes: list[int], eps: float) -> torch.fx.Node:
        mean = self(aten.mean.dim, x, axes, True)
        var = self(aten.var.correction, x, axes, correction=0, keepdim=True)
        rstd = self(aten.rsqrt.default, self(aten.add.Tensor, var, eps))
        return self(aten.mul.Tensor, self(aten.sub.Tensor, x, mean), rstd)

    def affine(self, x: torch.fx.Node, weight: Any, bias: Any, shape: list[int] | None = None) -> torch.fx.Node:
        for target, parameter in ((aten.mul.Tensor, weight), (aten.add.Tensor, bias)):
            if parameter is not None:
                wide = self.widened(parameter)
                x = self(target, x, wide if shape is None else self(aten.view.default, wide, shape))
        return x

    def rounded(self, y: torch.fx.Node, like: torch.fx.Node) -> torch.fx.Node:
        dtype = like.meta["val"].dtype
        same = y.meta["val"].dtype == dtype
        return y if same else self(torch.ops.prims.convert_element_type.default, y, dtype)


def layer_norm(write: Writer, x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> torch.fx.Node | None:
    rank = x.meta["val"].dim()
    y = write.normal(write.widened(x), list(range(rank - len(shape), rank)), eps)
    return write.rounded(write.affine(y, weight, bias), x)


def group_norm(write: Writer, x: Any, weight: Any, bias: Any, n: Any, channels: Any, rest: Any, groups: int,
               eps: float) -> torch.fx.Node | None:  # fmt: skip
    value = x.meta["val"]
    if not all(isinstance(s, int) for s in (*value.shape, n, channels, rest)) or not value.is_contiguous():
        return None
    each = channels // groups
    wide = write(aten.view.default, write.widened(x), [n, groups, each, rest])
    y = write.affine(write.normal(wide, [2, 3], eps), weight, bias, [1, groups, each, 1])
    return write.rounded(write(aten.view.default, y, list(value.shape)), x)


SPELLED = {aten.native_layer_norm.default: layer_norm, aten.native_group_norm.default: group_norm}
