"""Threads that ask for the back end first, all at once."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch
from checks import VERSION
from tokamak.registered import allow_again

FIRST = """
    import sys, threading, torch

    def made(i):
        return lambda x: (x * (i + 1)).sin().sum(i % 2) + torch.softmax(x, -1).amax() * i

    def work(i):
        try:
            function, x = made(i), torch.randn(5 + i, 7, requires_grad=i % 2 == 0)
            start.wait()
            compiled = torch.compile(function, backend="tokamak")
            torch.testing.assert_close(compiled(x), function(x))
            if x.requires_grad:
                compiled(x).sum().backward()
        except BaseException as error:
            wrong.append(repr(error))

    wrong, start = [], threading.Barrier(8)
    threads = [threading.Thread(target=work, args=[i]) for i in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert "tokamak" in torch._dynamo.list_backends()
    sys.exit("; ".join(wrong) or 0)
"""


@pytest.mark.skipif(VERSION < (2, 11), reason="Dynamo itself crashes, under the eager back end too")
def test_the_first_compilation_of_eight_threads() -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FIRST)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_other_back_ends_are_registered_once() -> None:
    registry = torch._dynamo.backends.registry
    ours = registry.lookup_backend("tokamak")
    before = registry._COMPILER_FNS
    allow_again(ours)
    assert registry._COMPILER_FNS is before
    assert "eager" in before and "tokamak" in registry._BACKENDS
    try:
        registry.register_backend(lambda module, inputs: module, name="eager")
    except AssertionError as error:
        assert "duplicate name" in str(error)
    else:
        raise AssertionError("eager was registered twice")
