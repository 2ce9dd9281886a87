"""What the forward pass keeps for the backward pass: torch's min-cut partitioner, made safe.

The partitioner lets the backward pass recompute from any input of the forward pass. An input that the forward pass has
changed in place (a running mean, a counter, a cache), or given other data, no longer holds what it held: recomputing
from it is silently wrong. Such inputs are read through a copy that may be saved and may not be recomputed; where
nothing saves it, the copy costs nothing.

A sum of two inputs is not saved either: the backward pass reads both again, as many bytes as writing and reading the
sum, in the kernel that has the most to compute meanwhile.

On the CPU what pointwise work gave, the output of a batch norm or an activation, is computed again even where a call or
a product of the backward pass has to find it in memory: that costs a pass over it, and keeping it would double what
networks of convolutions save.

What one pass gives back to the pool, saved tensors or the gradients of the step before, has other sizes than what the
other asks for: both passes ask it for `fitted` memory, so that it lies idle in neither. Gradients of convolutions are
ATen's, and its memory is not the pool's. Where a backward pass goes to and fro between the two, it is `thrifty`: what
the pool kept would lie idle while ATen asks the system for more. The forward pass is `lasting` then: while what it
saved is there, other graphs of the same model are thrifty too.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch._functorch._aot_autograd.schemas import ViewAndMutationMeta
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch._guards import TracingContext
from torch.utils.checkpoint import CheckpointPolicy

from .importer.calls import WRITES
from .importer.tensors import device_of
from .importer.views import VIEWS
from .norm_outputs import spell_out_batch_norms, spell_out_norms
from .rounded_terms import round_compared, round_terms

aten = torch.ops.aten
ATTENTION = aten._scaled_dot_product_flash_attention_for_cpu.default
ATTENTION_BACKWARD = aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def partition(
    joint: torch.fx.GraphModule, inputs: Any, **kwargs: Any
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    metadata = find_metadata()
    if metadata is None:  # a torch that keeps it elsewhere: the default partitioner saves more and is right
        kwargs.pop("compiler", None)
        return default_partition(joint, inputs, **kwargs)
    keep_changed_inputs(joint, metadata)
    spell_out_norms(joint)
    spell_out_batch_norms(joint)
    round_terms(joint)
    round_compared(joint)
    compute_sums_of_inputs_again(joint)
    copy_attention_again(joint)
    again = {"ban_recompute_materialized_backward": False} if device_of(joint).type == "cpu" else {}
    with torch._functorch.config.patch(**again):
        forward, backward = min_cut_rematerialization_partition(joint, inputs, **kwargs)
    thrifty = alternates_with_convolutions(backward.graph)
    forward.meta["growth"], backward.meta["growth"] = ("lasting", "thrifty") if thrifty else ("fitted", "fitted")
    return forward, backward


def alternates_with_convolutions(backward: torch.fx.Graph) -> bool:
    """Whether there are gradients of convolutions on the CPU, and segments of ours between them."""
    nodes = backward.find_nodes(op="call_function", target=torch.ops.aten.convolution_backward.default)
    return sum(n.args[1].meta["val"].device.type == "cpu" for n in nodes) > 1


def find_metadata() -> ViewAndMutationMeta | None:
    """What AOTAutograd knows of the inputs. It does not hand it to partitioners, but has it in a caller's frame."""
    context = TracingContext.try_get()
    if context and context.fw_metadata is not None:
        return context.fw_metadata
    frame = sys._getframe(1)
    for _ in range(12):
        if frame is None:
            return None
        if isinstance(found := frame.f_locals.get("fw_metadata"), ViewAndMutationMeta):
            return found
        frame = frame.f_back
    return None


def keep_changed_inputs(joint: torch.fx.GraphModule, metadata: ViewAndMutationMeta) -> None:
    primals = [n for n in joint.graph.nodes if n.op == "placeholder" and not n.name.startswith("tangents")]
    offset = len(primals) - len(metadata.input_info)  # tokens of effects come first
    for info, primal in zip(metadata.input_info, primals[max(0, offset) :], strict=False):
        changed = info.mutates_data or info.mutates_storage_metadata
        if not changed or not isinstance(primal.meta.get("val"), torch.Tensor):
            continue
        with joint.graph.inserting_after(last_placeholder(joint)):
            copy = joint.graph.call_function(torch.ops.aten.clone.default, (primal,))
        copy.meta.update(val=primal.meta["val"].clone(), recompute=CheckpointPolicy.MUST_SAVE)
        kept = (copy, *(user for user in primal.users if user.target in WRITES))
        primal.replace_all_uses_with(copy, delete_user_cb=lambda user, kept=kept: user not in kept)


def last_placeholder(module: torch.fx.GraphModule) -> torch.fx.Node:
    return [n for n in module.graph.nodes if n.op == "placeholder"][-1]


def compute_sums_of_inputs_again(joint: torch.fx.GraphModule) -> None:
    for node in joint.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor):
        value = node.meta["val"]
        if value.device.type == "cuda" and all(is_like_input(x, value) for x in node.args):
            node.meta["recompute"] = CheckpointPolicy.PREFER_RECOMPUTE


def copy_attention_again(joint: torch.fx.GraphModule) -> None:
    """What attention gave is read by its own gradient, and in another order of axes by the next product's: saved once,
    it is turned again. The partitioner's weights, which count what is fused with its readers twice, would save both."""
    calls = joint.graph.find_nodes(op="call_function", target=ATTENTION)
    saved = {read for n in joint.graph.find_nodes(op="call_function", target=ATTENTION_BACKWARD) for read in n.args[:6]}
    for whole in [user for n in calls for user in n.users if user.args[1] == 0]:
        views = views_of(whole)
        if saved.isdisjoint(views):
            continue
        for copy in [user for view in views for user in view.users if user.target is aten.clone.default]:
            copy.meta.setdefault("recompute", CheckpointPolicy.PREFER_RECOMPUTE)


def views_of(node: torch.fx.Node) -> list[torch.fx.Node]:
    """A node and all views of it."""
    found = [node]
    for view in found:
        found += [user for user in view.users if user.target in VIEWS]
    return found


def is_like_input(x: Any, value: torch.Tensor) -> bool:
    """Whether it is an input of the forward pass, as large as the value."""
    if not isinstance(x, torch.fx.Node) or x.op != "placeholder" or x.name.startswith("tangents"):
        return False
    given = x.meta.get("val")
    return isinstance(given, torch.Tensor) and given.shape == value.shape and given.dtype == value.dtype
