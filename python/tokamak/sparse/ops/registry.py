"""The table of ops that can be written down."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Handler:
    """`write(trace, shapes, *args, **kwargs)` gets Values for tensors and torch's idea of the result (`shapes`, on the
    meta device), and returns Values. `view`: the result shares memory with the first operand. `no_meta`: torch has no
    idea."""

    write: Callable[..., Any]
    view: bool = False
    no_meta: bool = False


HANDLERS: dict[str, Handler] = {}

REMEDIES = {
    "item": "a program's flow may not depend on the values of tensors: compute it outside, or with torch.where",
    "_local_scalar_dense": "a program's flow may not depend on the values of tensors: compute it with torch.where",
    "is_nonzero": "a program's flow may not depend on the values of tensors: compute it with torch.where",
    "nonzero": "the positions of values are data: find them outside the model and pass a sparse tensor",
    "embedding": "look the rows up outside the model, or pass a sparse one-hot matrix and use a product",
    "index": "index with slices, or with a constant: other indices are a product with a sparse one-hot matrix",
    "argmax": "return the values and take their argmax outside",
    "topk": "return the values and take the largest outside",
    "sort": "return the values and sort outside",
    "convolution": "write it as a product with a sparse matrix, or run that part with torch.compile",
    "conv1d": "write it as a product with a sparse matrix, or run that part with torch.compile",
    "conv2d": "write it as a product with a sparse matrix, or run that part with torch.compile",
    "dropout": "call model.eval() first: sparse programs are deterministic",
    "bernoulli": "call model.eval() first: sparse programs are deterministic",
}


def op(*names: str, view: bool = False, no_meta: bool = False) -> Callable:
    def register(write: Callable) -> Callable:
        for name in names:
            HANDLERS[name] = Handler(write, view, no_meta)
        return write

    return register


def remedy(name: str) -> str:
    if name in REMEDIES:
        return REMEDIES[name]
    close = difflib.get_close_matches(name, HANDLERS, 1, 0.8)
    known = f"use {close[0]}, " if close else ""
    return f"{known}write it with products, elementwise ops and reductions, or compute it outside the model"
