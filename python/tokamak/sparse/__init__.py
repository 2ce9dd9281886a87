"""Sparse models: an ordinary `nn.Module` becomes a program in index notation, is fused and runs as streams.

fast = tokamak.sparse.compile(model, A, x)          # A is a torch sparse tensor
y = fast(A, x)                                      # equal to what the model's dense form computes
print(fast.program)                                 # the .ein text
print(fast.explain())                               # what was fused, in which order, and why
"""

from __future__ import annotations

from typing import Any

import torch

from .compiled import Compiled
from .functional import masked_softmax, stored

__all__ = ["Compiled", "compile", "masked_softmax", "stored"]


def compile(
    model: torch.nn.Module, *inputs: Any, formats: dict[str, str] | None = None, schedule: str = "auto", **kwargs: Any
) -> Compiled:
    """Compiles a model for inputs of these shapes and formats.

    inputs    what forward takes. Sparse tensors (COO, CSR, CSC, BSR, BSC) are stored as they are; so are sparse weights
              and buffers of the model.
    formats   formats for tensors that torch stores otherwise, by name: arguments of forward, weights by their path, and
              "output" (or "output0", "output1"), which is then returned as a sparse tensor. {"fc1.weight": "csr"}
    schedule  "auto": the cost model chooses what is fused. "unfused": every op by itself. "layers": each layer of the
              model as one region. "full": everything as one. What cannot run as one region is cut where it must be, and
              `explain` says why. Or the text of a schedule.

    The model is run once, without data, to see what it does; weights are read at every call. Inputs of other shapes are
    compiled anew. An absent entry is zero; what is for stored entries alone is said by `torch.sparse.softmax`,
    `torch.sparse.sampled_addmm`, masks of attention, `masked_softmax` and `stored`. Refusals are `tokamak.Error` and
    name the op, its place and a remedy.
    """
    return Compiled(model, inputs, kwargs, dict(formats or {}), schedule)
