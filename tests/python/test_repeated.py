"""What several calls of ATen read is made once."""

import torch
from checks import compare
from tokamak.lowering import registry
from tokamak.repeated import share_repeated
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten


def traced(function, *shapes, dtype=torch.bfloat16):
    registry.table()
    with FakeTensorMode():
        inputs = [torch.empty(shape, device="cuda", dtype=dtype) for shape in shapes]
        module = make_fx(lambda *xs: tuple(function(*xs)), tracing_mode="fake")(*inputs)
    share_repeated(module)
    module.graph.eliminate_dead_code()
    return module


def count(module, target):
    return len(module.graph.find_nodes(op="call_function", target=target))


def attention(q, bias):
    return aten._scaled_dot_product_cudnn_attention(q, q, q, bias, False)[0]


def masked(q, m, low=float("-inf"), high=0.0):
    zero, none = (torch.full((), value, dtype=q.dtype, device=q.device) for value in (high, low))
    return attention(q, torch.where(m > 0, zero, none))


def test_layers_share_their_mask():
    shapes = ((2, 4, 16, 8), (2, 1, 16, 16))
    assert count(traced(lambda q, m: [masked(q, m), masked(q, m)], *shapes), aten.where.self) == 1
    assert count(traced(lambda q, m: [masked(q, m), masked(q, m, -1e4)], *shapes), aten.where.self) == 2
    assert count(traced(lambda q, m: [masked(q, m, high=0.0), masked(q, m, high=-0.0)], *shapes), aten.where.self) == 2


def test_what_differs_stays_apart():
    def noise(q, m):
        return [attention(q, torch.where(torch.rand_like(m) > 0.5, m, -m)) for _ in range(2)]

    assert count(traced(noise, (2, 4, 16, 8), (2, 1, 16, 16)), aten.where.self) == 2


def test_kernels_of_ours_compute_what_they_need_themselves():
    module = traced(lambda x, y: [torch.exp(x * 2) + y, torch.exp(x * 2) - y], (4, 8), (4, 8))
    assert count(module, aten.exp.default) == 2


def test_results_do_not_share_memory():
    def twice(x):
        return torch.sort(x * 2)[0], torch.sort(x * 2)[0], x * 2, x * 2

    compare(twice, [torch.randn(5, 7)], allow=["sort"])
    first, second, third, fourth = torch.compile(twice, backend="tokamak")(torch.randn(5, 7))
    first.zero_(), third.zero_()
    assert second.abs().sum() > 0 and fourth.abs().sum() > 0
