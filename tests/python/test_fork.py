"""A process forked from one whose threads have run."""

from __future__ import annotations

import os
import signal
import time

import torch
from torch.nn import functional as F


def in_child(work) -> bool:
    """Whether `work` comes to an end in a forked child, within a minute, and says that all is right."""
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = bool(work())
        finally:
            os._exit(0 if right else 1)
    for _ in range(600):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def test_a_forked_child_runs_and_compiles():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        layer = torch.nn.Linear(64, 128).requires_grad_(False)
        compiled = torch.compile(lambda x: F.layer_norm(F.gelu(layer(x)), (128,)) + 1, backend="tokamak")
        x = torch.randn(512, 64)
        want = compiled(x)  # product and kernel: OpenMP has its threads now
        other = F.softmax(x * 2, -1) @ layer.weight.t()  # not in the child, where eager's own products hang

        def work() -> bool:
            again = torch.allclose(compiled(x), want, atol=1e-5)
            fresh = torch.compile(lambda t: F.softmax(t * 2, -1) @ layer.weight.t(), backend="tokamak", dynamic=False)
            return again and torch.allclose(fresh(x), other, atol=1e-5)

        assert in_child(work)
        torch.testing.assert_close(compiled(x), want)  # the parent has its threads and its cache still
    finally:
        torch.set_num_threads(threads)
