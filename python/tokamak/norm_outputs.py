"""Outputs of norms that the backward pass computes again instead of reading them.

The gradient of an activation behind a norm needs what the norm gave. Torch's partitioner computes no norm in part, and
saves that: a tensor as large as the norm's input, which is saved too. Written out, all but the statistics is pointwise
work, and nothing is left to be saved but those:

    y, mean, rstd = native_layer_norm(x, ...)
    => mean, rstd = mean(x), rsqrt(var(x) + eps)
       y = (x - mean) * rstd * weight + bias

On a GPU, and in halves, norms stay as they are where a product, or anything but pointwise work, reads y: it lies in
memory then. On the CPU the backward pass writes it again, one pass over x, which it reads anyway.

A batch norm keeps its statistics, which the running ones need; only y is written out, whoever reads it:

    y, mean, rstd, ... = batch_norm(x, ...)
    => _, mean, rstd, ... = batch_norm(x, ...)
       y = (x - mean) * rstd * weight + bias
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from .decompositions import HALVES
from .rewriting import IMPLIED, call

aten = torch.ops.aten
CASTS = (torch.ops.prims.convert_element_type.default, aten._to_copy.default)


def spell_out_norms(joint: torch.fx.GraphModule) -> None:
    """Rewrites the joint graph of a forward and a backward pass in place."""
    for target, spelled in SPELLED.items():
        for norm in joint.graph.find_nodes(op="call_function", target=target):
            outputs = {n.args[1]: n for n in norm.users}
            if 0 not in outputs or not outputs[0].users:
                continue
            if not only_pointwise(outputs[0]) and not is_worth_writing_again(norm):
                continue
            with joint.graph.inserting_before(norm):
                write = Writer(joint.graph)
                results = spelled(write, *norm.args)
                if results is None:
                    continue
                for i, output in outputs.items():
                    output.replace_all_uses_with(write.as_given(results[i], output))
                    joint.graph.erase_node(output)
            joint.graph.erase_node(norm)


def spell_out_batch_norms(joint: torch.fx.GraphModule) -> None:
    """The same for batch norms that take their statistics from x, on the CPU."""
    norms = [n for target in BATCH_NORMS for n in joint.graph.find_nodes(op="call_function", target=target)]
    norms = [n for n in norms if n.args[-3] and n.args[0].meta["val"].device.type == "cpu"]
    for norm in norms:
        for output in [n for n in norm.users if n.args[1] == 0]:
            spell_out_batch_norm(joint.graph, norm, output)


def spell_out_batch_norm(graph: torch.fx.Graph, norm: torch.fx.Node, output: torch.fx.Node) -> None:
    x, weight, bias = norm.args[:3]
    with graph.inserting_before(norm.next):
        write = Writer(graph)
        shape = [-1 if axis == 1 else 1 for axis in range(x.meta["val"].dim())]
        saved = [write(operator.getitem, norm, i) for i in (1, 2)]
        mean, rstd = (write(aten.view.default, write.widened(s), shape) for s in saved)
        y = write.affine(write.normal(write.widened(x), mean, rstd), weight, bias, shape)
        output.replace_all_uses_with(write.as_given(y, output))
    graph.erase_node(output)


def is_worth_writing_again(norm: torch.fx.Node) -> bool:
    value = norm.args[0].meta["val"]
    return value.device.type == "cpu" and value.dtype not in HALVES


def only_pointwise(node: torch.fx.Node) -> bool:
    """Whether nothing but pointwise work reads a node, or its cast."""
    return all(is_pointwise(n) and (n.target not in CASTS or only_pointwise(n)) for n in node.users)


def is_pointwise(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.pointwise in node.target.tags


class Writer:
    """The pieces of norms, written at a graph's insertion point."""

    def __init__(self, graph: torch.fx.Graph):
        self.graph = graph

    def __call__(self, target: Any, *args: Any, **kwargs: Any) -> torch.fx.Node:
        return call(self.graph, target, *args, **kwargs)

    def cast(self, x: torch.fx.Node, dtype: torch.dtype) -> torch.fx.Node:
        """As the norm does inside itself: no rounding that a program asked for."""
        if x.meta["val"].dtype == dtype:
            return x
        node = self(torch.ops.prims.convert_element_type.default, x, dtype)
        node.meta[IMPLIED] = True
        return node

    def widened(self, x: torch.fx.Node) -> torch.fx.Node:
        return self.cast(x, torch.float32) if x.meta["val"].dtype in HALVES else x

    def statistics(self, x: torch.fx.Node, axes: list[int], eps: float) -> tuple[torch.fx.Node, torch.fx.Node]:
        """Of f32 in f32, as the norms themselves; `var` is folded in f64 on the CPU."""
        mean = self(aten.mean.dim, x, axes, True)
        centred = self(aten.sub.Tensor, x, mean)
        var = self(aten.mean.dim, self(aten.mul.Tensor, centred, centred), axes, True)
        return mean, self(aten.rsqrt.default, self(aten.add.Tensor, var, eps))

    def normal(self, x: torch.fx.Node, mean: torch.fx.Node, rstd: torch.fx.Node) -> torch.fx.Node:
        return self(aten.mul.Tensor, self(aten.sub.Tensor, x, mean), rstd)

    def affine(self, x: torch.fx.Node, weight: Any, bias: Any, shape: list[int] | None = None) -> torch.fx.Node:
        for target, parameter in ((aten.mul.Tensor, weight), (aten.add.Tensor, bias)):
            if parameter is not None:
                wide = self.widened(parameter)
                x = self(target, x, wide if shape is None else self(aten.view.default, wide, shape))
        return x

    def as_given(self, result: torch.fx.Node, output: torch.fx.Node) -> torch.fx.Node:
        """In the dtype, shape and layout of what it replaces."""
        value = output.meta["val"]
        if result.meta["val"].shape != value.shape:
            result = self(aten.view.default, result, list(value.shape))
        made = result.meta["val"]
        known = all(isinstance(s, int) for t in (made, value) for s in (*t.shape, *t.stride()))
        if known and value.is_contiguous() and not made.is_contiguous():
            result = self(aten.clone.default, result, memory_format=torch.contiguous_format)
        return self.cast(result, value.dtype)


Results = tuple[torch.fx.Node, torch.fx.Node, torch.fx.Node]


def layer_norm(write: Writer, x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Results:
    rank = x.meta["val"].dim()
    wide = write.widened(x)
    mean, rstd = write.statistics(wide, list(range(rank - len(shape), rank)), eps)
    return write.affine(write.normal(wide, mean, rstd), weight, bias), mean, rstd


def group_norm(write: Writer, x: Any, weight: Any, bias: Any, n: Any, channels: Any, rest: Any, groups: int,
               eps: float) -> Results | None:  # fmt: skip
    value = x.meta["val"]
    if not all(isinstance(s, int) for s in (*value.shape, n, channels, rest)) or not value.is_contiguous():
        return None
    each = channels // groups
    wide = write(aten.view.default, write.widened(x), [n, groups, each, rest])
    mean, rstd = write.statistics(wide, [2, 3], eps)
    return write.affine(write.normal(wide, mean, rstd), weight, bias, [1, groups, each, 1]), mean, rstd


SPELLED = {aten.native_layer_norm.default: layer_norm, aten.native_group_norm.default: group_norm}
BATCH_NORMS = (aten._native_batch_norm_legit_functional.default, aten._native_batch_norm_legit.no_stats)
