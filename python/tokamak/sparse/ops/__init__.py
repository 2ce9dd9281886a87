"""How each op of a model is written in index notation, one file a family."""

from __future__ import annotations

from . import arithmetic, attributes, masks, norms, products, reductions, selections, views  # noqa: F401
from .attributes import ATTRIBUTES
from .registry import HANDLERS, remedy

__all__ = ["ATTRIBUTES", "HANDLERS", "remedy"]
