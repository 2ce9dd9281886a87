"""What the importer keeps of a node."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch.fx import Node

from .segment import Value


@dataclasses.dataclass
class Entry:
    """What is known of one node's result."""

    fake: Any
    level: int = 0
    slot: int | None = None
    home: int | None = None  # the segment that computes it
    node: Node | None = None
    base: Entry | None = None  # the tensor this is a view of, if a call can make the view
    inside: dict[int, Value] = dataclasses.field(default_factory=dict)  # as a value of each segment that reads it
    parts: list[Entry] | None = None  # of a tuple
    object: Any = None  # a Python value, where it is known
    tensor: Entry | None = None  # a symbolic number as a 0-d tensor
    emit: Any = None  # makes it anew in the segment of a level, where that costs nothing


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A node that ATen serves, and why."""

    node: str
    op: str
    reason: str
    bytes: int = 0  # read and written, at the sizes first seen
