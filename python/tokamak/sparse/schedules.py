"""Which statements run together, by a word."""

from __future__ import annotations

from .index import Statement
from .places import refuse

WORDS = ("auto", "unfused", "layers", "full")


def chosen(wanted: str, statements: list[Statement]) -> str:
    """The schedule as the compiler takes it: a word it knows, or text."""
    if wanted == "layers":
        return layers(statements)
    if wanted == "full":
        return "schedule full {\n  fuse all\n  cut\n}\n"
    if wanted in WORDS or wanted.lstrip().startswith("schedule"):
        return wanted
    raise refuse("T0976", f"there is no schedule {wanted!r}",
                 f"use {', '.join(map(repr, WORDS))}, or text: schedule mine {{ fuse {{a, b}} }}")  # fmt: skip


def layers(statements: list[Statement]) -> str:
    """A region for each layer of the model. What the model does between layers belongs to the one before it."""
    groups: list[list[str]] = []
    current = None
    for item in statements:
        layer = item.base.layer or current
        if not groups or (layer != current and current is not None):
            groups.append([])
        current = layer if layer is not None else current
        groups[-1].append(item.base.name)
    inside = "\n".join(f"  fuse {{{', '.join(group)}}}" for group in groups)
    return f"schedule layers {{\n{inside}\n  cut\n}}\n"
