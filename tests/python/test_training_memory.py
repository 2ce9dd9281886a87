"""What a training step keeps, and for how long."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from tokamak.engine import engine

CHANNELS, SIZE = 16, 40


class Block(torch.nn.Module):
    """Convolutions with batch norms between them, so that every activation lies between two convolutions."""

    def __init__(self, activation=F.relu):
        super().__init__()
        self.activation = activation
        self.convs = torch.nn.ModuleList(torch.nn.Conv2d(CHANNELS, CHANNELS, 3, 1, 1, bias=False) for _ in range(4))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(CHANNELS) for _ in range(4))

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = self.activation(norm(conv(x)))
        return x


def make(activation=F.relu, dtype=torch.float32):
    torch._dynamo.reset()
    torch.manual_seed(2)
    return Block(activation).to(dtype), torch.randn(2, CHANNELS, SIZE, SIZE, dtype=dtype)


def gradients(module, function, x):
    module.zero_grad()
    function(x).square().mean().backward()
    return [p.grad.clone() for p in module.parameters()]


def kept_by(function, x):
    """The tensors as large as x that autograd keeps, x itself left out."""
    kept = {}

    def pack(tensor):
        if tensor.numel() == x.numel() and tensor.data_ptr() != x.data_ptr():
            kept[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = function(x)
    kept.pop(out.data_ptr(), None)
    return len(kept)


@pytest.mark.parametrize("activation", [F.relu, F.silu, F.hardtanh], ids=lambda f: f.__name__)
def test_only_results_of_convolutions_are_saved(activation):
    module, x = make(activation)
    assert kept_by(torch.compile(module, backend="tokamak", fullgraph=True), x) == len(module.convs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_gradients_and_statistics_are_those_of_eager(dtype):
    module, x = make(dtype=dtype)
    exact, _ = make(dtype=torch.float64)
    exact.load_state_dict(module.state_dict())
    eager, _ = make(dtype=dtype)
    eager.load_state_dict(module.state_dict())
    true = gradients(exact, exact, x.double())
    theirs = gradients(eager, eager, x)
    ours = gradients(module, torch.compile(module, backend="tokamak", fullgraph=True), x)
    for a, b, t in zip(ours, theirs, true, strict=True):
        allowed = 2 * float((b.double() - t).abs().max()) + 1e-5 * float(t.abs().max())
        assert float((a.double() - t).abs().max()) <= allowed
    for a, b in zip(module.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(a, b)


def test_the_pool_keeps_nothing_of_a_step():
    """What the forward pass saved is the C library's again when the backward pass is over: ATen's calls found it."""
    module, x = make()
    function = torch.compile(module, backend="tokamak", fullgraph=True)
    gradients(module, function, x)
    engine().trim()
    before = engine().status()
    gradients(module, function, x)
    after = engine().status()
    assert after["in_use_bytes"] == before["in_use_bytes"]
    assert after["cached_bytes"] < x.nbytes


def test_a_graph_that_is_kept_runs_backward_again():
    module, x = make()
    loss = torch.compile(module, backend="tokamak", fullgraph=True)(x).square().mean()
    once = torch.autograd.grad(loss, list(module.parameters()), retain_graph=True)
    again = torch.autograd.grad(loss, list(module.parameters()))
    for a, b in zip(once, again, strict=True):
        assert torch.equal(a, b)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(loss, list(module.parameters()))


def test_frozen_statistics_and_frozen_weights():
    module, x = make()
    module.norms[1].eval()
    module.convs[2].weight.requires_grad_(False)
    parameters = [p for p in module.parameters() if p.requires_grad]
    theirs = torch.autograd.grad(module(x).square().mean(), parameters)
    function = torch.compile(module, backend="tokamak", fullgraph=True)
    ours = torch.autograd.grad(function(x).square().mean(), parameters)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


class Layers(torch.nn.Module):
    """Products alone: weights of many sizes, activations of others."""

    def __init__(self):
        super().__init__()
        widths = [192, 320, 512, 704, 256, 640, 192]
        self.layers = torch.nn.ModuleList(map(torch.nn.Linear, widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers:
            x = F.gelu(layer(x))
        return x


def make_layers():
    torch._dynamo.reset()
    torch.manual_seed(3)
    module = Layers()
    return module, torch.compile(module, backend="tokamak", fullgraph=True), torch.randn(128, 192)


def step(module, function, x):
    module.zero_grad(set_to_none=True)
    function(x).square().mean().backward()


def test_gradients_of_the_step_before_serve_the_next():
    """Once a step was made the system is asked for nothing more, and no step holds what grows with their number."""
    module, function, x = make_layers()
    step(module, function, x)
    step(module, function, x)
    module.zero_grad(set_to_none=True)
    engine().trim()
    step(module, function, x)
    first = engine().status()
    for _ in range(5):
        step(module, function, x)
    last = engine().status()
    for key in ("misses", "in_use_bytes", "cached_bytes"):
        assert last[key] == first[key]


def test_a_value_that_is_read_in_two_layouts_or_held_elsewhere():
    """Operands are dropped while a segment runs: not before its last step that reads them, nor what others hold."""
    torch._dynamo.reset()
    torch.manual_seed(4)
    w = torch.randn(256, 256, requires_grad=True)

    def f(x):
        y = torch.tanh(x @ w)
        z = (y @ y.T) * y.T @ w
        return z.sum() + (y * z).sin().sum(), y

    x = torch.randn(256, 256, requires_grad=True)
    theirs = torch.autograd.grad(f(x)[0], [x, w])
    loss, y = torch.compile(f, backend="tokamak", fullgraph=True)(x)
    kept = y.detach().clone()
    once = torch.autograd.grad(loss, [x, w], retain_graph=True)
    again = torch.autograd.grad(loss, [x, w])
    for a, b, c in zip(once, again, theirs, strict=True):
        assert torch.equal(a, b)
        torch.testing.assert_close(a, c, rtol=1e-3, atol=1e-3 * float(c.abs().max()))
    assert torch.equal(y, kept)
