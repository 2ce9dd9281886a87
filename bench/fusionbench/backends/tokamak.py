"""torch.compile(model, backend="tokamak")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import ledger
from ..backend import Backend

PROFILED = 5  # calls; the fastest of each step counts


class Tokamak(Backend):
    name = "tokamak"
    about = 'torch.compile(model, backend="tokamak")'
    caches = True

    @staticmethod
    def environment(folder: str) -> dict[str, str]:
        return {"TOKAMAK_CACHE_DIR": folder}

    def compile(self, module: torch.nn.Module) -> Callable[..., Any]:
        from tokamak import backend

        compiled = torch.compile(module, backend="tokamak", options={"freeze": self.settings.freeze})
        self.graphs: list[Any] = []

        def run(**arguments: Any) -> Any:
            with backend.recording() as graphs:
                out = compiled(**arguments)
            self.graphs += graphs
            return out

        return run

    def facts(self, call: Callable[[], Any]) -> dict[str, Any]:
        return ledger.facts([graph.json() for graph in self.graphs])

    def trim(self) -> None:
        from tokamak.engine import engine

        engine().trim()

    def slowest(self, module: torch.nn.Module, call: Callable[[Callable[..., Any]], Any]) -> dict[str, Any] | None:
        from tokamak import backend

        torch._dynamo.reset()
        with backend.recording(timed=True) as graphs:
            function = torch.compile(module, backend="tokamak", options={"freeze": self.settings.freeze})
            for _ in range(PROFILED):
                call(function)
        return ledger.slowest([(graph.json(), graph.timings) for graph in graphs])
