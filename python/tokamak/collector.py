"""Python's collector of cycles rests while a graph is compiled.

What compiling makes lives until the compilation ends, so there is nothing to collect; but thousands of new objects set
the collector off, and where a program has many objects one whole collection takes half a second.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_compilations = 0  # under way, on all threads
_resumes = False  # whether the collector ran before the first of them


@contextlib.contextmanager
def at_rest() -> Iterator[None]:
    global _compilations, _resumes
    with _lock:
        if _compilations == 0:
            _resumes = gc.isenabled()
            gc.disable()
        _compilations += 1
    try:
        yield
    finally:
        with _lock:
            _compilations = max(0, _compilations - 1)  # forked meanwhile
            if _compilations == 0 and _resumes:
                gc.enable()


def _in_a_forked_child() -> None:
    """Compilations of other threads ended with the fork; those of this one, if any, go on without a rest."""
    global _lock, _compilations
    _lock = threading.Lock()
    if _compilations and _resumes:
        gc.enable()
    _compilations = 0


os.register_at_fork(after_in_child=_in_a_forked_child)
