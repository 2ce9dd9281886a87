"""Products that segments on a GPU put on the stream themselves.

The way through ATen costs the host several times what the library itself does, which is most of the time of a model
whose kernels are short. A product still ends its level, as a call of ATen does: what its operands took is free again
before its readers run. Large products are ATen's: the host's time hides behind them, and a segment would keep its
other operands meanwhile. So are those in f32, since ATen knows how exact torch wants them to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Node

from .dims import hint_of, memory_order
from .entries import Entry
from .levels import bytes_of
from .segment import HALVES
from .tensors import DTYPES
from .views import PRODUCTS

if TYPE_CHECKING:
    from .graph import Importer


LARGE = 16 << 20  # bytes of a result


def is_own(importer: Importer, node: Node) -> bool:
    """Whether the library can be called with the operands as they lie, and does all that ATen would."""
    if node.target not in PRODUCTS or node in importer.banned or bytes_of(node) > LARGE:
        return False
    operands = [importer.entries[n] for n in node.all_input_nodes]
    fakes = [e.fake for e in operands] + [node.meta["val"]]
    if not all(isinstance(f, torch.Tensor) and DTYPES.get(f.dtype) in HALVES for f in fakes):
        return False
    if len({f.dtype for f in fakes}) > 1 or any(hint_of(size) == 0 for f in fakes for size in f.shape):
        return False
    factors = node.args[-2:]
    if len(node.args) == 3:  # of addmm
        bias = fakes[0] if node.args[0] is node.all_input_nodes[0] else None
        if node.kwargs or bias is None or bias.dim() != 1 or bias.shape[0] != node.meta["val"].shape[1]:
            return False
    return all(lies_as_matrices(importer.entries[n]) for n in factors)


def lies_as_matrices(entry: Entry) -> bool:
    """Rows, or columns, one after the other, and one matrix after the other; what a segment computes it stores so."""
    if entry.home is not None and entry.base is None and entry.slot is None:
        return True
    order, plain = memory_order(entry.fake), list(range(entry.fake.dim()))
    return order in (plain, [*plain[:-2], plain[-1], plain[-2]])


def product(importer: Importer, node: Node, fake: Any) -> Entry:
    """The product as a result of the segment of its operands' level; its readers are on the next."""
    level = max(importer.entries[n].level for n in node.all_input_nodes)
    made = importer.lowered_in(node, fake, level)
    slot = importer.stored_slot(made)
    return Entry(fake, level + 1, slot=slot, node=node)
