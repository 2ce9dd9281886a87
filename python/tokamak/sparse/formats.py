"""Formats as the front end handles them: names, lists of levels, and what becomes of them when an axis is split."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import torch

from .places import refuse

if TYPE_CHECKING:
    from .index import Base

NAMES = ("dense", "csr", "csc", "dcsr", "dcsc", "coo", "csf", "bcsr(r, c)")
LEVEL = re.compile(r"(dense|compressed|singleton)\s+(\d+)(?:\s*([/%])\s*(\d+))?(\s+repeated)?")


@dataclasses.dataclass(frozen=True)
class Level:
    """One level: its kind, the axis it holds, and of a blocked axis which part (`/` outer, `%` inner) of what block."""

    kind: str
    axis: int
    part: str = ""
    block: int = 1
    repeated: bool = False

    def __str__(self) -> str:
        blocked = f"{self.part}{self.block}" if self.part else ""
        return f"{self.kind} {self.axis}{blocked}" + (" repeated" if self.repeated else "")


def parse(text: str, rank: int, name: str = "the tensor") -> list[Level]:
    """The levels of a format for a tensor of this rank. T0911."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        items = [item.strip() for item in text[1:-1].split(",") if item.strip()]
        found = [LEVEL.fullmatch(item) for item in items]
        if all(found):
            levels = [Level(m[1], int(m[2]), m[3] or "", int(m[4] or 1), bool(m[5])) for m in found]
            if {level.axis for level in levels} == set(range(rank)):
                return levels
        raise _unknown(text, rank, name)
    levels = named(text, rank)
    if levels is None:
        raise _unknown(text, rank, name)
    return levels


def _unknown(text: str, rank: int, name: str) -> Exception:
    return refuse(
        "T0911",
        f"there is no format {text!r} for {name}, which has {rank} axes",
        f"use {', '.join(NAMES)}, or levels like {{dense 0, compressed 1}}",
    )


def named(text: str, rank: int) -> list[Level] | None:
    if text == "dense":
        return [Level("dense", axis) for axis in range(rank)]
    if text == "csf":
        return [Level("compressed", axis) for axis in range(rank)]
    if text == "coo" and rank:
        tail = [Level("singleton", axis, repeated=axis + 1 < rank) for axis in range(1, rank)]
        return [Level("compressed", 0, repeated=rank > 1), *tail]
    if rank != 2:
        return None
    top = {"csr": ("dense", 0), "csc": ("dense", 1), "dcsr": ("compressed", 0), "dcsc": ("compressed", 1)}
    if text in top:
        kind, axis = top[text]
        return [Level(kind, axis), Level("compressed", 1 - axis)]
    blocks = re.fullmatch(r"bcsr\(\s*(\d+)\s*,\s*(\d+)\s*\)", text)
    if blocks and int(blocks[1]) and int(blocks[2]):
        r, c = int(blocks[1]), int(blocks[2])
        return [
            Level("dense", 0, "/", r),
            Level("compressed", 1, "/", c),
            Level("dense", 0, "%", r),
            Level("dense", 1, "%", c),
        ]
    return None


def is_dense(levels: list[Level]) -> bool:
    return all(level.kind == "dense" for level in levels)


def is_sparse(base: Base) -> bool:
    return bool(base.format) and not is_dense(parse(base.format or "", len(base.shape), base.name))


def of_tensor(tensor: torch.Tensor) -> str | None:
    """The format that a torch tensor is stored in; None for strided ones."""
    rank = tensor.dim()
    if tensor.layout == torch.strided:
        return None
    if tensor.layout == torch.sparse_coo:
        sparse = tensor.sparse_dim()
        if sparse == rank:
            return "coo"
        levels = [*(named("coo", sparse) or []), *(Level("dense", axis) for axis in range(sparse, rank))]
        return _list(levels)
    if tensor.layout in (torch.sparse_csr, torch.sparse_csc):
        rows, columns = (rank - 2, rank - 1) if tensor.layout == torch.sparse_csr else (rank - 1, rank - 2)
        batch = [Level("dense", axis) for axis in range(rank - 2)]
        return simplest([*batch, Level("dense", rows), Level("compressed", columns)], rank)
    r, c = tensor.values().shape[-2:]
    rows, columns = (rank - 2, rank - 1) if tensor.layout == torch.sparse_bsr else (rank - 1, rank - 2)
    block = {rank - 2: r, rank - 1: c}
    levels = [*(Level("dense", axis) for axis in range(rank - 2)), Level("dense", rows, "/", block[rows])]
    levels.append(Level("compressed", columns, "/", block[columns]))
    levels += [Level("dense", axis, "%", block[axis]) for axis in (rank - 2, rank - 1)]
    return simplest(levels, rank)


def _list(levels: list[Level]) -> str:
    return "{" + ", ".join(map(str, levels)) + "}"


def simplest(levels: list[Level], rank: int) -> str:
    """The name of a format where it has one."""
    for name in ("dense", "csr", "csc", "dcsr", "dcsc", "coo", "csf"):
        if named(name, rank) == levels:
            return name
    blocks = [level.block for level in levels if level.part == "%"]
    if len(blocks) == 2 and named(name := f"bcsr({blocks[0]}, {blocks[1]})", rank) == levels:
        return name
    return _list(levels)


def stored_as(base: Base) -> str:
    """The format of a base as its axes are now: those of size 1 dropped, those that a reshape split in parts."""
    if not base.format:
        return ""
    rank = len(base.shape)
    levels = parse(base.format, rank, base.name)
    places: dict[int, list[int]] = {}
    kept = [axis for axis in range(rank) if base.shape[axis] != 1]
    position = 0
    for axis, slot in zip(kept, base.slots, strict=True):
        count = len(slot.leaves())
        places[axis] = list(range(position, position + count))
        position += count
    if is_dense(levels) and [level.axis for level in levels] == list(range(rank)):
        return ""
    if position == rank and len(kept) == rank:
        return base.format
    if levels == named("coo", rank):
        return "coo" if position else ""
    return simplest(_moved(levels, places, base.name), position) if position else ""


def _moved(levels: list[Level], places: dict[int, list[int]], name: str) -> list[Level]:
    out: list[Level] = []
    for level in levels:
        axes = places.get(level.axis, [])
        if level.part and len(axes) > 1:
            raise refuse(
                "T0916",
                f"a reshape splits axis {level.axis} of {name}, which is stored in blocks of {level.block}",
                "reshape before the tensor is stored in blocks, or store it without",
            )
        chained = level.repeated or level.kind == "singleton"  # a part that is not the first hangs on the one before it
        for n, axis in enumerate(axes):
            kind = "singleton" if chained and n else level.kind
            out.append(
                dataclasses.replace(
                    level, axis=axis, kind=kind, repeated=level.repeated or (chained and n + 1 < len(axes))
                )
            )
    lost = any(level.kind != "dense" for level in levels) and is_dense(out)
    if lost and out and not out[-1].part:  # an axis of size 1 held the pattern: the one above it says what is stored
        out[-1] = dataclasses.replace(out[-1], kind="compressed")
    return out
