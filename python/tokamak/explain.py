"""What was decided about a model, and why."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import torch

STYLE = "body{font:14px sans-serif;margin:1em}td,th{text-align:left;padding:2px 12px 2px 0}"


@dataclasses.dataclass
class Explanation:
    """The ledgers of everything compiled for one call: segments with their kernels and edges, and what ATen runs.

    Prints as a table; `source()` is the text of the kernels, `save(path)` writes HTML (or JSON, by the name); `graphs`
    holds the parts.
    """

    graphs: list[Any] = dataclasses.field(default_factory=list)

    @property
    def kernels(self) -> int:
        return sum(g.kernels for g in self.graphs)

    @property
    def calls(self) -> int:
        return sum(len(g.refusals) for g in self.graphs)

    def json(self) -> dict[str, Any]:
        return {"kernels": self.kernels, "calls": self.calls, "graphs": [g.json() for g in self.graphs]}

    def html(self) -> str:
        body = "".join(g.html() for g in self.graphs) or "<p>No graph was compiled.</p>"
        return f"<!doctype html><meta charset=utf-8><title>Tokamak</title><style>{STYLE}</style>{body}"

    def source(self) -> str:
        return "\n".join(e.source() for g in self.graphs for e in g.executables)

    def save(self, path: str | os.PathLike) -> None:
        """As JSON, as the table, or as the page, which the name's ending tells."""
        writers = {".json": lambda: json.dumps(self.json(), indent=1), ".txt": lambda: f"{self}\n"}
        text = writers.get(os.path.splitext(path)[1], self.html)()
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def __str__(self) -> str:
        return "\n\n".join(g.table() for g in self.graphs) or "No graph was compiled."


def explain(model: Any, *args: Any, options: dict[str, Any] | None = None, **kwargs: Any) -> Explanation:
    """Compiles `model` for these inputs, runs it once, and tells what was decided.

    Torch forgets what it has compiled before (`torch._dynamo.reset()`), so that everything is compiled and told of.
    Backward graphs are told of as well if the caller runs them: use `tokamak.backend.recording()` around both.
    """
    from . import backend

    model = getattr(model, "_orig_mod", model)
    with backend.recording() as graphs:
        torch._dynamo.reset()
        torch.compile(model, backend="tokamak", options=options)(*args, **kwargs)
    return Explanation(graphs)
