"""The ATen ops that compute something in a call, and the bytes they move: what eager has instead of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

FREE = {"detach", "alias", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "lift_fresh"}


class Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls = self.bytes = 0

    def __torch_dispatch__(self, op: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = op(*args, **(kwargs or {}))
        if not (op.is_view or op.overloadpacket.__name__ in FREE or returns_argument(out, args)):
            self.calls += 1
            self.bytes += sum(x.nbytes for x in tree_flatten((args, kwargs, out))[0] if isinstance(x, torch.Tensor))
        return out


def returns_argument(out: Any, args: tuple) -> bool:
    """A reshape or a cast that had nothing to do gives the memory it got."""
    if not hasattr(out, "data_ptr") or not args or not hasattr(args[0], "data_ptr"):
        return False
    return out is not args[0] and out.data_ptr() == args[0].data_ptr() and out.numel() == args[0].numel() > 0


def count(call: Callable[[], Any]) -> Counter:
    with Counter() as counter:
        call()
    return counter
