"""The memory of a call, from the kernel's own accounts of this process.

A process is asked, so nothing that an allocator hides is missed: torch's, Tokamak's pool and a library's scratch all
count, and pages that were reserved but never touched do not. First the back end compiles and is warmed up. Then all
that is kept for later calls is given back (the back end's pool, the C library's free lists), the resident set is read
(the baseline), the kernel's high-water mark is reset, and one call is made. Its peak is the mark less the baseline: the
intermediates alive at once and the result. What stays resident because of compiling (code, packed weights, what the
compiler left behind) is told apart, as the growth of the baseline over a process that only built the model.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any


def call_memory(prepare: Callable[[], None], call: Callable[[], Any], trim: Callable[[], None]) -> dict[str, Any]:
    """{"peak_bytes", "resident_bytes"}; empty where the kernel does not tell (it is Linux's)."""
    try:
        give_back(lambda: None)
        before = status("VmRSS")
        prepare()
        give_back(trim)
        baseline = status("VmRSS")
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # resets VmHWM
    except OSError:
        prepare()
        return {}
    call()
    return {"peak_bytes": max(status("VmHWM") - baseline, 0), "resident_bytes": max(baseline - before, 0)}


def give_back(trim: Callable[[], None]) -> None:
    gc.collect()
    trim()
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


def status(key: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))
