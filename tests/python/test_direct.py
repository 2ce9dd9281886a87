"""Calls that go past AOTAutograd's wrappers, and those that must not."""

from __future__ import annotations

import pytest
import torch
from tokamak import _ext
from tokamak.backend import tokamak
from torch.nn import functional as F


def compiled(fn, *args, **options):
    """The function compiled and run once, and what the back end gave Dynamo to call."""
    torch._dynamo.reset()
    given = []

    def backend(module, inputs):
        given.append(tokamak(module, inputs, options=options))
        return given[-1]

    run = torch.compile(fn, backend=backend)
    run(*args)
    return run, given


BARE = {
    "norm": lambda x: F.layer_norm(F.gelu(x + 1), (6,)),
    "several": lambda x: (x + 1, x.sum(1), x.t().clone()),
    "number": lambda x: x.sum(),
}
WRAPPED = {
    "view of an input": lambda x: x.t(),
    "views of one tensor": lambda x: (lambda y: (y, y[1:]))(x + 1),
    "mutation": lambda x: x.add_(1) * 2,
    "a call of ATen": lambda x: torch.linalg.inv(x[:4, :4]) + 1,
}


@pytest.mark.parametrize("name", BARE)
def test_wrappers_that_do_nothing_are_left_out(name):
    x = torch.randn(5, 6)
    run, given = compiled(BARE[name], x)
    assert [type(f) for f in given] == [_ext.Entry]
    torch.testing.assert_close(run(x), BARE[name](x))


@pytest.mark.parametrize("name", WRAPPED)
def test_wrappers_with_work_stay(name):
    x = torch.randn(5, 6)
    run, given = compiled(WRAPPED[name], x.clone())
    assert given and not any(isinstance(f, _ext.Entry) for f in given)
    a, b = x.clone(), x.clone()
    torch.testing.assert_close(run(a), WRAPPED[name](b))
    torch.testing.assert_close(a, b)


def test_training_keeps_its_graph():
    x = torch.randn(5, 6, requires_grad=True)
    run, given = compiled(torch.sin, x)
    assert not isinstance(given[0], _ext.Entry)
    assert run(x).requires_grad
    run, given = compiled(lambda t: t.detach() * 2, x)  # nothing to differentiate: inference with gradients on
    assert isinstance(given[0], _ext.Entry)
    assert not run(x).requires_grad
    assert run(x).equal(x.detach() * 2)


def test_frozen_weights_are_watched():
    layer = torch.nn.Linear(4, 3).requires_grad_(False)
    x = torch.randn(2, 4)
    run, given = compiled(layer, x, freeze=True)
    assert isinstance(given[0], _ext.Entry)
    for _ in range(5):
        layer.weight.add_(1)
        torch.testing.assert_close(run(x), layer(x))


def test_an_entry_counts_its_arguments():
    _, given = compiled(torch.sin, torch.randn(3))
    with pytest.raises(TypeError, match="called with 1 arguments"):
        given[0]()
