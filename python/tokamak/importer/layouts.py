"""Results with gaps between their elements.

Segments store dense tensors. A few ops give what is not dense though it is no view, `slice_scatter` of a tensor with
gaps among them: what the caller sees of these is copied to where eager has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._guards import TracingContext
from torch.fx import Node

from tokamak import _ext

from .dims import hint_of, memory_order
from .entries import Entry
from .views import root_of

if TYPE_CHECKING:
    from .graph import Importer


def with_strides(x: torch.Tensor, size: list[int], stride: list[int]) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=x.dtype, device=x.device).copy_(x)


def written_back() -> int:
    """How many results of the graph being compiled are new values of its arguments, the first ones."""
    context = TracingContext.try_get()
    return getattr(getattr(context, "fw_metadata", None), "num_mutated_inp_runtime_indices", 0)


def has_gaps(value: torch.Tensor) -> bool:
    """Nothing new lies on itself, though the tracing of torch 2.10 says so of what is scattered into such a tensor."""
    overlaps = any(
        isinstance(stride, int) and stride == 0 and hint_of(size) > 1
        for size, stride in zip(value.shape, value.stride(), strict=True)
    )
    return memory_order(value) is None and not overlaps


def lay_out_results(importer: Importer, results: list[Any]) -> None:
    """Gives those that have gaps, or of which views are results, their places."""
    for node in dict.fromkeys(root_of(n) for n in results if isinstance(n, Node)):
        entry = importer.entries[node]
        if isinstance(entry.fake, torch.Tensor) and entry.home is not None and has_gaps(entry.fake):
            place = [[number(importer, n) for n in numbers] for numbers in (entry.fake.shape, entry.fake.stride())]
            dense = _ext.Slot(importer.slot_of(entry))
            entry.slot = importer.new_slot()
            step = ("call", with_strides, (dense, *place), None, entry.slot)
            importer.after.setdefault(entry.home, []).append(step)


def number(importer: Importer, n: Any) -> Any:
    return _ext.Slot(importer.slot_of(Entry(n))) if isinstance(n, torch.SymInt) else n
