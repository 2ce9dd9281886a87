"""Tensors on their way into a program and out of it."""

from __future__ import annotations

import torch

from . import formats
from .index import Base, leaves
from .places import refuse

Entry = tuple[str, list[int] | None, torch.Tensor | None, torch.Tensor | None, bool]
"""An input as the extension takes it: name, shape, float64 values, int32 coordinates unless all are there, and whether
the program is to keep it packed. Where it has it already, only the name is given."""


def coordinates(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Coordinates (axes x entries) and values of everything that a sparse tensor stores."""
    if tensor.layout == torch.sparse_coo:
        tensor = tensor.coalesce()  # entries at one place are added up: that is what they mean
        at, values = tensor.indices(), tensor.values()
        shape = values.shape[1:]
        if shape:  # a hybrid tensor: each entry is a dense piece
            inner = torch.cartesian_prod(*(torch.arange(n) for n in shape)).reshape(-1, len(shape)).t()
            count = inner.shape[1]
            at = torch.cat([at.repeat_interleave(count, 1), inner.repeat(1, at.shape[1])])
        return at, values.reshape(-1)
    by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    pos = tensor.crow_indices() if by_rows else tensor.ccol_indices()
    crd = tensor.col_indices() if by_rows else tensor.row_indices()
    values = tensor.values()
    batch = pos.shape[:-1]
    count = pos.shape[-1] - 1
    found = []
    for n, where in enumerate(
        torch.cartesian_prod(*(torch.arange(b) for b in batch)).reshape(-1, len(batch)) if batch else [None]
    ):
        fiber = (pos.reshape(-1, count + 1)[n], crd.reshape(-1, crd.shape[-1])[n]) if batch else (pos, crd)
        major = torch.arange(count).repeat_interleave(fiber[0].diff())
        pair = torch.stack([major, fiber[1]] if by_rows else [fiber[1], major])
        lead = [] if where is None else [where[:, None].expand(-1, pair.shape[1])]
        found.append(torch.cat([*lead, pair]))
    at = torch.cat(found, 1).to(torch.int64)
    if tensor.layout in (torch.sparse_csr, torch.sparse_csc):
        return at, values.reshape(-1)
    r, c = values.shape[-2:]
    inner = torch.cartesian_prod(torch.arange(r), torch.arange(c)).t()
    at = at.repeat_interleave(r * c, 1)
    at[-2] = at[-2] * r + inner[0].repeat(at.shape[1] // (r * c))
    at[-1] = at[-1] * c + inner[1].repeat(at.shape[1] // (r * c))
    return at, values.reshape(-1)


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The dense tensors that hold a tensor's data."""
    if tensor.layout == torch.strided:
        return [tensor]
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]


class Kept:
    """Copies of inputs that a program keeps packed, to see whether they have changed since.

    Values are compared: a tensor's version does not count what is written through `.data` or shared memory.
    """

    def __init__(self) -> None:
        self.last: dict[str, tuple[torch.layout, list[torch.Tensor]]] = {}

    def entry(self, base: Base, tensor: torch.Tensor) -> Entry:
        tensor = tensor.detach()
        now = parts(tensor)
        layout, before = self.last.get(base.name, (None, []))
        same = layout == tensor.layout and tuple(tensor.shape) == base.shape and len(now) == len(before)
        if same and all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(now, before, strict=True)):
            return base.name, None, None, None, True
        self.last.pop(base.name, None)
        fresh = entry(base, tensor, keep=True)
        self.last[base.name] = (tensor.layout, [part.clone() for part in now])
        return fresh


def entry(base: Base, tensor: torch.Tensor, keep: bool = False) -> Entry:
    """A tensor as the program's input `base`."""
    tensor = tensor.detach()
    if tuple(tensor.shape) != base.shape:
        shapes = f"shape {list(tensor.shape)}, the program was made for {list(base.shape)}"
        raise refuse("T0914", f"{base.name} has {shapes}", "compile the model for these inputs")
    tensor = tensor.cpu()
    inner = leaves(base.slots)
    shape = [leaf.size for leaf in inner]
    if tensor.layout == torch.strided:
        return base.name, shape, tensor.to(torch.float64).contiguous().reshape(-1), None, keep
    at, values = coordinates(tensor)
    kept = [axis for axis, size in enumerate(base.shape) if size != 1]
    rows = []
    for axis, slot in zip(kept, base.slots, strict=True):
        rest = at[axis]
        parts = []
        for leaf in slot.leaves()[:0:-1]:
            parts.append(rest % leaf.size)
            rest = rest // leaf.size
        rows += [rest, *parts[::-1]]  # what is outside the shape stays so, to be refused
    matrix = torch.stack(rows, 1) if rows else torch.zeros(values.numel(), 0)
    return base.name, shape, values.to(torch.float64).contiguous(), matrix.to(torch.int32).contiguous(), keep


def as_layout(dense: torch.Tensor, at: torch.Tensor, values: torch.Tensor, wanted: str) -> torch.Tensor:
    """A result that the caller wants sparse, from its stored entries."""
    if wanted == "dense":
        return dense
    coo = torch.sparse_coo_tensor(at.t().to(torch.int64), values, dense.shape).coalesce()
    rank = dense.dim()
    levels = formats.parse(wanted, rank, "the result")
    blocks = [level.block for level in levels if level.part == "%"]
    if rank == 2 and len(blocks) == 2 and not any(n % b for n, b in zip(dense.shape, blocks, strict=True)):
        return coo.to_sparse_bsr(tuple(blocks))
    if wanted in ("csr", "csc"):
        return coo.to_sparse_csr() if wanted == "csr" else coo.to_sparse_csc()
    return coo
