"""Normalisations, their gradients and their running statistics against eager; dropout by its statistics."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from checks import FLOATS, compare, numbers
from torch import nn

HALVES = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(17,), (5, 17)], ids=str)
def test_layer_norm(dtype: torch.dtype, shape: tuple) -> None:
    x, w, b = numbers(3, 5, 17, dtype=dtype), numbers(*shape, dtype=dtype, seed=1), numbers(*shape, dtype=dtype, seed=2)

    def norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, shape, w, b)

    compare(norm, [x, w, b], grad=True, options={"precision": "fp32"})
    if dtype in HALVES:  # rounding as eager does is left to eager
        compare(norm, [x, w, b], grad=True, allow=["native_layer_norm_backward"])


def test_layer_norm_without_parameters_and_rows() -> None:
    compare(lambda x: (F.layer_norm(x, (9,)), F.layer_norm(x, (9,), eps=1e-2)), [numbers(7, 9)], grad=True)
    compare(lambda x: F.layer_norm(x, (9,)), [numbers(0, 9)])
    compare(lambda x: F.layer_norm(x, (9,)), [numbers(9, 7).t()])
    compare(lambda x: F.layer_norm(x, (5,)), [torch.tensor([[3.0] * 5, [0.0] * 5, [1.0, 2, 3, 4, 5]])])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rms_norm(dtype: torch.dtype) -> None:
    x, w = numbers(5, 17, dtype=dtype), numbers(17, dtype=dtype, seed=1)
    compare(lambda x, w: F.rms_norm(x, (17,), w, eps=1e-6), [x, w], grad=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_group_norm(dtype: torch.dtype) -> None:
    x, w, b = numbers(2, 6, 5, 7, dtype=dtype), numbers(6, dtype=dtype, seed=1), numbers(6, dtype=dtype, seed=2)
    compare(lambda x, w, b: F.group_norm(x, 3, w, b), [x, w, b], grad=True)


def test_group_norm_of_other_shapes() -> None:
    compare(lambda x: F.group_norm(x, 1), [numbers(3, 6)], grad=True)
    compare(lambda x: F.group_norm(x, 2), [numbers(3, 6, 17)], grad=True)
    compare(lambda x: F.instance_norm(x), [numbers(2, 3, 5, 7)], grad=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_batch_norm(dtype: torch.dtype) -> None:
    x, w, b = numbers(4, 3, 5, 7, dtype=dtype), numbers(3, dtype=dtype, seed=1), numbers(3, dtype=dtype, seed=2)
    mean, var = numbers(3, dtype=dtype, seed=3), numbers(3, dtype=dtype, seed=4).abs() + 1
    compare(lambda x, w, b, m, v: F.batch_norm(x, m.detach(), v.detach(), w, b), [x, w, b, mean, var], grad=True)
    compare(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [x, w, b], grad=True)


@pytest.mark.parametrize("build", [
    lambda: nn.BatchNorm1d(7), lambda: nn.BatchNorm1d(7, affine=False), lambda: nn.BatchNorm1d(7, momentum=None),
    lambda: nn.BatchNorm1d(7, track_running_stats=False), lambda: nn.InstanceNorm1d(7, track_running_stats=True),
])  # fmt: skip
def test_running_statistics(build) -> None:
    """After two steps of training the buffers are eager's."""
    eager, ours = build(), build()
    torch._dynamo.reset()
    compiled = torch.compile(ours, backend="tokamak", dynamic=False)
    for step in range(2):
        x = numbers(5, 7, 9, seed=step)
        torch.testing.assert_close(compiled(x), eager(x), rtol=1e-5, atol=1e-5)
    for (name, theirs), mine in zip(eager.named_buffers(), ours.buffers(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_mixed_precision(dtype: torch.dtype) -> None:
    """Parameters in f32, activations in half."""
    x, w, b = numbers(4, 6, 5, dtype=dtype), numbers(6, seed=1), numbers(6, seed=2)
    compare(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [x, w, b], grad=True)
    compare(lambda x, w, b: F.group_norm(x, 2, w, b), [x, w, b], grad=True)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_layer_norm_of_halves_by_parameters_in_f32(dtype: torch.dtype) -> None:
    """As under autocast; the statistics that its gradient reads are f32."""
    inputs = [numbers(6, 17, dtype=dtype), numbers(17, seed=1), numbers(17, seed=2)]
    compare(lambda x, w, b: F.layer_norm(x, (17,), w, b), inputs, grad=True)
    model, x = nn.Sequential(nn.Linear(9, 16), nn.LayerNorm(16)), numbers(5, 9)
    with torch.autocast("cpu", dtype=dtype):
        y = torch.compile(model, backend="tokamak")(x)
    y.float().square().sum().backward()
    assert model[1].weight.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("channels_last", [False, True])
def test_batch_norm_of_halves_rounds_its_statistics(dtype: torch.dtype, channels_last: bool) -> None:
    """Eager normalises by the halves that it saves for the backward pass; near zero a ReLU's mask hangs on it."""

    def run(compile) -> list[torch.Tensor]:
        torch.manual_seed(0)
        norm = nn.BatchNorm2d(24).to(dtype)
        x = (numbers(4, 24, 7, 7, seed=1) * 1.7 + 0.4).to(dtype)
        x = (x.contiguous(memory_format=torch.channels_last) if channels_last else x).requires_grad_()
        y = compile(lambda x: norm(x).relu())(x)
        y.backward(numbers(*y.shape, dtype=dtype, seed=2))
        return [y.detach(), x.grad, norm.weight.grad, norm.bias.grad]

    torch._dynamo.reset()
    ours = run(lambda f: torch.compile(f, backend="tokamak", dynamic=False))
    for mine, theirs in zip(ours, run(lambda f: f), strict=True):
        assert (mine == theirs).double().mean() > 0.998


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(6, 6, 1), nn.BatchNorm2d(6)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)) + x)


def test_terms_under_a_relu_are_rounded_as_eager_does() -> None:
    """Where a batch norm and what is added to it cancel, its rounding decides whether a gradient passes."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    eager = Residual().to(torch.bfloat16)
    ours = copy.deepcopy(eager)
    compiled = torch.compile(ours, backend="tokamak", dynamic=False, options={"precision": "fp32"})
    different = 0
    for seed in range(12):
        x = [numbers(8, 6, 14, 14, dtype=torch.bfloat16, seed=seed).requires_grad_() for _ in range(2)]
        cotangent = numbers(8, 6, 14, 14, dtype=torch.bfloat16, seed=seed + 100)
        for run, y in zip((eager, compiled), x, strict=True):
            run(y).backward(cotangent)
        different += int((x[0].grad != x[1].grad).sum())
    assert different < 12 * 9408 // 1000


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_training_of_halves_follows_eager(dtype: torch.dtype) -> None:
    """By default every op of a training step rounds as in eager; three steps of Adam then end in the same weights."""

    def run(compile) -> list[torch.Tensor]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(9, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3)).to(dtype)
        step, optimiser = compile(net), torch.optim.Adam(net.parameters(), lr=0.01, eps=1e-4)
        for seed in range(3):
            optimiser.zero_grad()
            F.mse_loss(
                step(numbers(8, 9, dtype=dtype, seed=seed)), numbers(8, 3, dtype=dtype, seed=seed + 9)
            ).backward()
            optimiser.step()
        return list(net.parameters())

    torch._dynamo.reset()
    ours = run(lambda f: torch.compile(f, backend="tokamak", dynamic=False))
    for mine, theirs in zip(ours, run(lambda f: f), strict=True):
        assert (mine == theirs).double().mean() > 0.9


def dropped(p: float, shape: tuple, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """What dropout gives of ones, and their gradient."""
    torch._dynamo.reset()
    torch.manual_seed(1)
    x = torch.ones(shape, dtype=dtype, requires_grad=True)
    y = torch.compile(lambda x: F.dropout(x, p), backend="tokamak", dynamic=False)(x)
    y.sum().backward()
    return y.detach(), x.grad


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dropout(dtype: torch.dtype) -> None:
    y, grad = dropped(0.3, (512, 512), dtype)
    kept = y != 0
    assert abs(kept.double().mean() - 0.7) < 0.005
    assert abs(kept.double().mean(0) - 0.7).max() < 0.12
    torch.testing.assert_close(y[kept], torch.full_like(y[kept], 1 / 0.7))
    assert torch.equal(grad, y)


def test_dropout_at_its_limits() -> None:
    assert torch.equal(dropped(0.0, (9, 9))[0], torch.ones(9, 9))
    assert torch.equal(dropped(1.0, (9, 9))[0], torch.zeros(9, 9))
    assert dropped(0.5, (0, 9))[0].shape == (0, 9)


def test_small_dropout_draws_what_eager_draws() -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x.tanh(), 0.5) * 2

    torch._dynamo.reset()
    x, results = numbers(8, 3, 3), []
    for function in (both, torch.compile(both, backend="tokamak", dynamic=False)):
        torch.manual_seed(3)
        results.append(function(x))
    torch.testing.assert_close(results[1], results[0])


def test_random_numbers_follow_the_seed() -> None:
    def draw() -> tuple[torch.Tensor, ...]:
        return torch.rand(64, 64), torch.rand(64, 64), torch.randn(64, 64), torch.randint(3, 9, (64, 64))

    torch._dynamo.reset()
    compiled = torch.compile(draw, backend="tokamak")
    torch.manual_seed(7)
    first, second = compiled(), compiled()
    torch.manual_seed(7)
    again = compiled()
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    uniform, other, normal, whole = first
    assert not torch.equal(uniform, other)
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
    assert abs(normal.mean()) < 0.06 and abs(normal.std() - 1) < 0.05
    assert set(whole.unique().tolist()) == set(range(3, 9))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_uniform_halves_are_below_one(dtype: torch.dtype) -> None:
    x = torch.compile(lambda: torch.rand(1 << 16, dtype=dtype), backend="tokamak")()
    assert x.dtype == dtype and x.min() >= 0 and x.max() < 1 and abs(x.double().mean() - 0.5) < 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_batch_norm_that_gives_its_statistics(dtype: torch.dtype) -> None:
    """ATen's result has another dtype than torch's tracing says."""

    def fn(x, w, b, mean, var):
        return torch.ops.aten._batch_norm_with_update(x, w, b, mean, var, 0.1, 1e-5)[0] * 2

    def inputs():
        torch.manual_seed(0)
        return [torch.randn(4, 5, 6).to(dtype), *(torch.rand(5).to(dtype) for _ in range(4))]

    mine, theirs = inputs(), inputs()
    torch.testing.assert_close(torch.compile(fn, backend="tokamak")(*mine), fn(*theirs))
    torch.testing.assert_close(mine, theirs)


NORMS = {
    "rows": (lambda x: F.layer_norm(x, x.shape[-1:]), (64, 768)),
    "long rows": (lambda x: F.layer_norm(x, x.shape[-1:]), (8, 50_000)),
    "groups": (lambda x: F.group_norm(x, 8), (8, 32, 14, 14)),
    "instances": (lambda x: F.instance_norm(x), (8, 32, 14, 14)),
    "batch": (lambda x: F.batch_norm(x, None, None, None, None, True), (16, 32, 14, 14)),
    "channels last": (lambda x: F.batch_norm(x, None, None, None, None, True), (16, 14, 14, 32)),
}


@pytest.mark.parametrize("offset", [0, 100, 1e4])
@pytest.mark.parametrize("name", NORMS)
def test_norms_are_as_exact_as_eagers(name: str, offset: float) -> None:
    """The mean's last digits show in what it is taken off, the more the larger it is."""
    torch.manual_seed(0)
    function, shape = NORMS[name]
    errors = [0.0, 0.0]
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="tokamak", dynamic=False)
    for _ in range(3):
        x = torch.randn(shape) + offset
        x = x.permute(0, 3, 1, 2) if name == "channels last" else x
        exact = function(x.double())
        for i, y in enumerate((compiled(x), function(x))):
            errors[i] += (y - exact).norm().item() ** 2
    assert errors[0] <= 1.15**2 * errors[1]


def test_norms_that_are_written_out_round_as_they_do_inside_an_op() -> None:
    """What a norm gives to an activation stays in f32, in the forward pass and where the backward computes it again."""
    from tokamak.importer.graph import Importer
    from tokamak.norm_outputs import spell_out_norms
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    with FakeTensorMode():
        x, w = torch.empty(4, 8, dtype=torch.bfloat16), torch.empty(8, dtype=torch.bfloat16)
        module = make_fx(lambda x, w: (F.gelu(F.layer_norm(x, (8,), w)),), tracing_mode="fake")(x, w)
    spell_out_norms(module)
    module.recompile()
    importer = Importer(module, "forward")
    importer.run()
    casts = [line for line in importer.segments[0].graph.text().splitlines() if "= cast" in line]
    assert casts and all("synthetic = true" in line for line in casts), casts
