"""Where in the model an op stands, and refusals that say so."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import torch

from .._ext import Error

OURS = os.path.dirname(os.path.abspath(__file__))
TORCH = os.path.dirname(os.path.abspath(torch.__file__))


def refuse(code: str, message: str, hint: str, place: str = "") -> Error:
    """The exception of a refusal, with its code, its place and what to do about it."""
    return Error(f"{place + ': ' if place else ''}error {code}: {message}\n  hint: {hint}")


def source_line() -> str:
    """The file and line of the user's code that is running."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((OURS, TORCH, "<")) and os.sep + "contextlib.py" not in file:
            return f"{os.path.basename(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


class Modules:
    """Which module of a model is running."""

    def __init__(self, model: torch.nn.Module):
        self.model = model
        self.stack: list[str] = []

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        hooks = []
        for name, module in self.model.named_modules():
            if name:
                hooks.append(module.register_forward_pre_hook(lambda *_, name=name: self.stack.append(name)))
                hooks.append(module.register_forward_hook(lambda *_: (self.stack.pop(), None)[1], always_call=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
            self.stack.clear()

    def current(self) -> str:
        return self.stack[-1] if self.stack else ""

    def layer(self) -> str:
        """The outermost module, below lists of modules, that is running."""
        path = self.stack[0] if self.stack else ""
        if path and isinstance(self.model.get_submodule(path), (torch.nn.ModuleList, torch.nn.Sequential)):
            return self.stack[1] if len(self.stack) > 1 else path
        return path

    def place(self, op: str) -> str:
        inside = self.current()
        return f"{source_line() or 'model'}, {op} in {inside or type(self.model).__name__}"
