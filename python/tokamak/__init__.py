"""Tokamak: a kernel-fusion compiler for deep learning.

    model = torch.compile(model, backend="tokamak")
    print(tokamak.explain(model, *inputs))

`options` of torch.compile are described by `tokamak.Options`.
"""

from __future__ import annotations

import torch

from . import _ext, sparse
from ._ext import Error
from .explain import Explanation, explain
from .options import Options

__version__ = "0.1.0"
__all__ = ["Error", "Explanation", "Options", "explain", "sparse"]

_ext.use_tensor_type(torch.Tensor)
