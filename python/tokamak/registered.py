"""Torch's table of back ends, for threads that all ask for ours first.

Torch loads a back end of another package when it is first asked for, without a lock: of several threads each loads it,
each registers it, and all but one are told "duplicate name". All of them wait for this module to be imported before
they register anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch._dynamo.backends import registry

NAME = "tokamak"


class Table(dict):
    """Never says that ours is there, so that registering it once more is no error."""

    def __contains__(self, name: Any) -> bool:
        return name != NAME and super().__contains__(name)


def allow_again(backend: Callable) -> None:
    """The back end may be registered any number of times."""
    table = getattr(registry, "_COMPILER_FNS", None)
    if isinstance(table, dict) and not isinstance(table, Table):
        backend._tags = ()  # as registering does
        registry._COMPILER_FNS = Table(table | {NAME: backend})
