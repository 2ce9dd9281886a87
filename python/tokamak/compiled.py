"""One ATen graph compiled: the plan that runs it and what there is to say about it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import torch

from . import _ext
from .engine import engine
from .importer.graph import Importer, Refusal
from .options import Options


@dataclasses.dataclass
class CompiledGraph:
    name: str
    plan: _ext.Plan
    executables: list[_ext.Executable]
    refusals: list[Refusal]

    @property
    def kernels(self) -> int:
        return sum(len(e.kernels()) for e in self.executables)

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernels": self.kernels,
            "segments": [json.loads(e.json()) for e in self.executables],
            "calls": [dataclasses.asdict(r) for r in self.refusals],
        }

    def table(self) -> str:
        lines = [f"{self.name}: {len(self.executables)} segments, {self.kernels} kernels, {len(self.refusals)} calls"]
        lines += [e.table() for e in self.executables]
        lines += [f"  ATen runs {r.op} ({r.node}): {r.reason}" for r in self.refusals]
        return "\n".join(lines)

    def html(self) -> str:
        return "\n".join(e.html() for e in self.executables)


def compile_graph(module: torch.fx.GraphModule, inputs: list[Any], options: Options, kind: str) -> CompiledGraph:
    module.graph.eliminate_dead_code()
    importer = Importer(module, kind)
    importer.run()
    shared = engine(options.cache)
    steps, executables = [], []
    for level in range(max([-1, *importer.segments, *importer.before, *importer.after]) + 1):
        steps += importer.before.get(level, [])
        if importer.writes.get(level):
            executable = shared.compile(
                importer.segments[level].graph, importer.hints, eager_rounding=options.precision == "eager",
                use_cache=options.cache)
            executables.append(executable)
            steps.append(("run", executable, importer.reads[level], importer.writes[level]))
        steps += importer.after.get(level, [])
    count = len(inputs)
    plan = _ext.Plan(importer.values, count, steps, importer.outputs, importer.constants)
    return CompiledGraph(kind, plan, executables, importer.refusals)
