"""Results that share memory in eager share it compiled, with the same strides."""

from __future__ import annotations

import pytest
import torch
from checks import strides
from torch.nn import functional as F


def roots(tensors):
    """For every pair of tensors, whether they share memory."""
    places = [t.untyped_storage().data_ptr() for t in tensors]
    return [[a == b for b in places] for a in places]


def whole_and_parts(x):
    z = x * 2
    return z, z.view(-1), z.t(), z[0], z[:, 1::2], x * 2


def halves(x):
    q, k, v = F.linear(x, torch.ones(12, 6)).relu().chunk(3, -1)
    return k.unsqueeze(0).transpose(1, 2), v, q + 1


def gaps_and_repeats(x):
    return (x + 1)[:, ::2], x.sum(1, keepdim=True).expand(4, 6), (x - 1).unfold(1, 3, 1), (x * 3).diagonal()


def after_a_call(x):
    z = torch.sort(x)[0] * 2
    return z, z.t(), torch.sort(z.exp())[0].add(1)[1:]


def beside_a_changed_input(x):
    x.add_(1)
    z = x.sin()
    return z[1:], z, x[0]


def views_that_calls_read(x):
    z = x.sin()
    rows, turned, window = z[1:, ::2], z.t()[1:].unsqueeze(0), (x + 1).unfold(1, 3, 1)
    return z, rows, rows.sort(0)[0], turned, turned.topk(2)[0], window.sort(-1)[0], window


def views_by_calls(x):
    z = x.sin()
    pairs = torch.view_as_complex(z.view(4, 3, 2))
    return z, torch.view_as_real(pairs), pairs.imag


PROGRAMS = [
    whole_and_parts, halves, gaps_and_repeats, after_a_call, beside_a_changed_input, views_that_calls_read,
    views_by_calls,
]  # fmt: skip


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_share_memory_as_in_eager(program, dynamic, grad):
    x = torch.randn(4, 6, requires_grad=grad)
    a, b = x.clone(), x.clone()
    both = torch.compile(program, backend="tokamak", dynamic=dynamic)(a), program(b)
    ours, eager = ([t.detach() for t in results] for results in both)
    assert roots([a, *ours]) == roots([b, *eager])
    for mine, theirs in zip(ours, eager, strict=True):
        torch.testing.assert_close(mine, theirs)
        assert strides(mine) == strides(theirs)
    ours[0].add_(1)
    eager[0].add_(1)
    for mine, theirs in zip(ours, eager, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_shuffle_of_one_group_is_the_callers():
    x = torch.ones(1, 2, 3)
    torch.compile(lambda x: F.channel_shuffle(x, 1), backend="tokamak")(x).add_(1)
    assert x.sum() == 6


def test_an_empty_out_is_resized():
    def fn(x):
        return torch.mul(x, x, out=torch.empty(0)) + 1

    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.compile(fn, backend="tokamak", dynamic=True)(x), fn(x))


@pytest.mark.parametrize("grad", [False, True])
def test_an_input_is_given_other_data(grad):
    def fn(x, y, z, w):
        late = torch.sort(torch.sort(w.sin(), 0)[0].sin(), 0)[0] + z  # z as it was
        before = x * late
        z.add_(1)
        x.data = x.data * 2 + y
        return x * late + z, before.exp()

    def run(f):
        x, y, z, w = torch.arange(48.0).div(48).view(4, 3, 4)
        x, w = x.clone().requires_grad_(grad), w.clone().requires_grad_(grad)
        for _ in range(2):
            out = f(x, y, z, w)
        grads = torch.autograd.grad(out, [w], [o.detach() for o in out]) if grad else ()
        return [*out, x, z, *grads]

    torch.testing.assert_close(run(torch.compile(fn, backend="tokamak")), run(fn))
