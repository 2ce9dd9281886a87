"""The process's engine: memory pool, threads, kernel cache, libraries."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import threading

from . import _ext

_making = threading.Lock()


def engine(cache: bool = True) -> _ext.Engine:
    """One for compilations that keep their kernels on disk, one for those that do not, however many threads ask."""
    with _making:
        return _engine(cache)


@functools.cache
def _engine(cache: bool) -> _ext.Engine:
    return _ext.Engine(disk_cache=cache, onednn=find_onednn())


def find_onednn() -> str:
    """The folder of oneDNN 3 in this Python's environment, or nothing: then the engine looks by itself."""
    if os.environ.get("TOKAMAK_ONEDNN"):
        return ""
    for root in (sys.prefix, sysconfig.get_path("data")):
        folder = os.path.join(root, "lib")
        if os.path.exists(os.path.join(folder, "libdnnl.so.3")):
            return folder
    return ""
