"""What a back end is to the bench: it compiles a module, and says what it knows of what it made."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import torch


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the user asked for that back ends should obey."""

    size: str = "small"
    train: bool = False
    freeze: bool = False
    threads: int = 1
    seconds: float = 2.0  # of timing a model

    def text(self) -> str:
        return json.dumps(dataclasses.asdict(self))


class Backend:
    """Eager, unless a subclass says otherwise. One object serves one process and one model.

    `compile` may be called more than once. The other methods tell of what the last one made, after its first call:

    facts    {"kernels": compiled kernels one call runs, "calls": library or framework calls one call makes, and what
             else the back end knows: see docs/fusionbench.md}
    trim     gives memory back that is kept for later calls, so that the next call's need shows
    slowest  the step that takes most of a call's time, and the decision that led to it; None if there is no telling
    """

    name = "eager"
    about = "PyTorch as it is"
    caches = False  # whether a second process compiles faster

    def __init__(self, settings: Settings):
        self.settings = settings

    @staticmethod
    def environment(folder: str) -> dict[str, str]:
        """Variables that move the caches on disk to a folder."""
        return {}

    def compile(self, module: torch.nn.Module) -> Callable[..., Any]:
        return module

    def facts(self, call: Callable[[], Any]) -> dict[str, Any]:
        from .eager_calls import count

        counted = count(call)
        return {"kernels": 0, "calls": counted.calls, "bytes_moved": counted.bytes}

    def trim(self) -> None:
        pass

    def slowest(self, module: torch.nn.Module, call: Callable[[Callable[..., Any]], Any]) -> dict[str, Any] | None:
        return None
