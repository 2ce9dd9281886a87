"""The process's engine: memory pool, threads, kernel cache, libraries."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig

from . import _ext


def engine(cache: bool = True) -> _ext.Engine:
    """One for compilations that keep their kernels on disk, one for those that do not."""
    return _engine(cache)


@functools.cache
def _engine(cache: bool) -> _ext.Engine:
    return _ext.Engine(disk_cache=cache, onednn=find_onednn())


def cache_folder() -> str:
    """Where compiled kernels and saved programs lie, as in the command line."""
    if folder := os.environ.get("TOKAMAK_CACHE_DIR"):
        return folder
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tokamak")


def find_onednn() -> str:
    """The folder of oneDNN 3 in this Python's environment, or nothing: then the usual places are tried."""
    if path := os.environ.get("TOKAMAK_ONEDNN"):
        return path
    for root in (sys.prefix, sysconfig.get_path("data")):
        folder = os.path.join(root, "lib")
        if os.path.exists(os.path.join(folder, "libdnnl.so.3")):
            return folder
    return ""
