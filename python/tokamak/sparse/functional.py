"""What torch has no words for: ops on the stored entries of a tensor, in eager mode and in models under trace."""

from __future__ import annotations

import math

import torch

from .data import coordinates
from .trace import Traced


def _positions(mask: torch.Tensor) -> torch.Tensor:
    """Where a tensor stores entries, as a dense tensor of truths."""
    if mask.layout == torch.strided:
        return mask != 0
    at, _ = coordinates(mask.detach())
    out = torch.zeros(mask.shape, dtype=torch.bool)
    out[tuple(at)] = True
    return out


def stored(mask: torch.Tensor) -> torch.Tensor:
    """1 where `mask` stores an entry, 0 elsewhere; of a dense tensor the entries are those that are not 0.

    In a compiled model a tensor with a format stores what the format says: all of a block of `bcsr`.
    """
    if isinstance(mask, Traced):
        return mask.trace.functional("stored", mask)
    return _positions(mask).to(mask.dtype if mask.is_floating_point() else torch.float32)


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """softmax of `scores` over the stored entries of `mask`, which is broadcast; 0 elsewhere and in rows without."""
    traced = next((item for item in (scores, mask) if isinstance(item, Traced)), None)
    if traced is not None:
        return traced.trace.functional("masked_softmax", scores, mask, dim)
    kept = _positions(mask)
    return torch.softmax(scores.masked_fill(~kept, -math.inf), dim).nan_to_num(0.0).where(kept, 0.0)
