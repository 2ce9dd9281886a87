"""Python's collector of cycles: at rest while a graph is compiled, as it was before and after."""

import gc
import os

import pytest
import torch
from tokamak import backend, collector


def seen_while_compiling(monkeypatch, function, *inputs) -> list[bool]:
    seen = []
    compile_graph = backend.compile_graph

    def watched(*args):
        seen.append(gc.isenabled())
        return compile_graph(*args)

    monkeypatch.setattr(backend, "compile_graph", watched)
    function(*inputs)
    return seen


def train(x: torch.Tensor) -> None:
    torch.compile(lambda x: (x * 2).tanh().sum(), backend="tokamak")(x).backward()


def test_rests_while_a_graph_is_compiled(monkeypatch):
    assert seen_while_compiling(monkeypatch, train, torch.ones(3, requires_grad=True)) == [False, False]
    assert gc.isenabled()


def test_goes_on_after_a_failure():
    with pytest.raises(Exception, match="True or False"):
        torch.compile(lambda x: x + 1, backend="tokamak", options={"freeze": 1})(torch.ones(3))
    assert gc.isenabled()


def test_stays_off_where_the_program_turned_it_off():
    gc.disable()
    try:
        torch.compile(lambda x: x * 3, backend="tokamak")(torch.ones(3))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_rests_until_the_last_of_several():
    with collector.at_rest():
        with collector.at_rest():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_child_forked_meanwhile_collects():
    with collector.at_rest():
        child = os.fork()
        if child == 0:
            right = gc.isenabled()
            with collector.at_rest():
                right = right and not gc.isenabled()
            os._exit(0 if right and gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()
