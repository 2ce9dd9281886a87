"""Integers that sizes alone decide are computed when a graph is compiled."""

import pytest
import tokamak
import torch
from checks import compare


def causal(x, n=24):
    """A mask of packed sequences, as transformers makes it in the graph."""
    positions = torch.arange(n)[None].expand(x.shape[0], -1)
    starts = torch.cat((positions[:, :1] - 1, positions), -1).diff(dim=-1) != 1
    sequence, rows = starts.cumsum(-1), torch.arange(x.shape[0])[:, None, None]
    q, k = torch.arange(n)[None, :, None], torch.arange(n)[None, None, :]
    return ((k <= q) & (sequence[rows, q] == sequence[rows, k])), x


def masked(x):
    mask, x = causal(x)
    return torch.softmax((x[:, :, None] * x[:, None, :]).masked_fill(~mask, -1e9), -1)


def kernels(function, *inputs):
    return sum(graph.kernels for graph in tokamak.explain(function, *inputs).graphs)


def test_a_mask_of_a_static_shape_costs_no_kernel():
    x = torch.randn(3, 24)
    plain = kernels(lambda x: torch.softmax((x[:, :, None] * x[:, None, :]), -1), x)
    assert kernels(masked, x) == plain
    compare(masked, [x])


def test_gradients_and_other_sizes():
    compare(masked, [torch.randn(3, 24)], grad=True)
    compiled = torch.compile(lambda x: x[torch.arange(x.shape[0]).flip(0).cumsum(0) % 3], backend="tokamak")
    for n in (4, 5, 9):
        x = torch.randn(n, 2)
        torch.testing.assert_close(compiled(x), x[torch.arange(n).flip(0).cumsum(0) % 3])


def test_a_result_is_made_anew_by_every_call():
    compiled = torch.compile(lambda x: (torch.arange(6).cumsum(0), x + 1), backend="tokamak")
    first, _ = compiled(torch.ones(2))
    first.zero_()
    assert compiled(torch.ones(2))[0].tolist() == [0, 1, 3, 6, 10, 15]


def test_what_eager_refuses_is_refused_by_the_call():
    def pick(x):
        return x + torch.arange(4)[torch.arange(3).cumsum(0) + 3]

    with pytest.raises(IndexError):
        pick(torch.ones(3))
    with pytest.raises(IndexError):
        torch.compile(pick, backend="tokamak")(torch.ones(3))


def test_what_is_large_is_computed_by_kernels():
    def large(x):
        return x + torch.arange(1 << 19).cumsum(0)[:4]

    compare(large, [torch.randn(4)])


def test_views_of_any_kind_are_made_anew_too():
    def complex_view(x):
        m = torch.arange(6).cumsum(0)
        return x + m, torch.view_as_real(m.view(torch.complex64))

    compiled = torch.compile(complex_view, backend="tokamak")
    first = compiled(torch.zeros(6))[1].clone()
    compiled(torch.zeros(6))[1].fill_(7)
    assert torch.equal(compiled(torch.zeros(6))[1], first)
    assert compiled(torch.zeros(6))[0].tolist() == [0, 1, 3, 6, 10, 15]


def test_long_chains():
    def sums(x):
        m = torch.arange(6)
        for i in range(700):
            m = m + i
        return x + m.flip(0)

    def views(x):
        m = torch.arange(6).cumsum(0)
        for _ in range(300):
            m = m.view(2, 3).view(6)
        return x + m

    for function in (sums, views):
        x = torch.randn(6)
        torch.testing.assert_close(torch.compile(function, backend="tokamak")(x), function(x))
