"""Splits as slices: each part is then a view of its own, and aliases what eager's does."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def split_with_sizes(x: torch.Tensor, sizes: list[int], dim: int = 0) -> tuple[torch.Tensor, ...]:
    parts, start = [], 0
    for size in sizes:
        parts.append(aten.slice.Tensor(x, dim, start, start + size))
        start = start + size
    return tuple(parts)


def split(x: torch.Tensor, size: int, dim: int = 0) -> tuple[torch.Tensor, ...]:
    total = x.shape[dim]
    if total == 0:
        return (aten.alias(x),)
    count = int((total + size - 1) // size)
    return split_with_sizes(x, [size] * (count - 1) + [total - size * (count - 1)], dim)


DECOMPOSITIONS = {aten.split.Tensor: split, aten.split_with_sizes.default: split_with_sizes}
