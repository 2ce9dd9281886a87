"""Tokamak: a kernel-fusion compiler for deep learning.

    model = torch.compile(model, backend="tokamak")
    print(tokamak.explain(model, *inputs))

`options` of torch.compile are described by `tokamak.Options`.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch

from . import _ext
from ._ext import Error
from .explain import Explanation, explain
from .options import Options

__version__ = "0.1.0"
__all__ = ["Error", "Explanation", "Options", "explain", "sparse"]

_ext.use_tensor_type(torch.Tensor)


def __getattr__(name: str) -> Any:
    """`tokamak.sparse` is imported when it is first asked for: nobody else waits for it."""
    if name == "sparse":
        return importlib.import_module(".sparse", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
