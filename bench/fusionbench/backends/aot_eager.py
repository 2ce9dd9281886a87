"""Dynamo and AOTAutograd alone: what compiling costs every back end of torch.compile before it begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..backend import Backend


class AotEager(Backend):
    name = "aot_eager"
    about = "Dynamo and AOTAutograd, then eager ops: the part of a compilation that all share"

    def compile(self, module: torch.nn.Module) -> Callable[..., Any]:
        return torch.compile(module, backend="aot_eager")

    def facts(self, call: Callable[[], Any]) -> dict[str, Any]:
        return {"kernels": 0}
