"""What a training step keeps, and for how long."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from tokamak.backend import recording
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
    w = (torch.randn(256, 256) / 16).requires_grad_()

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


class Stack(torch.nn.Module):
    """Strided convolutions over a wave, each twice as short as the one before, a norm behind the first."""

    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList(torch.nn.Conv1d(CHANNELS, CHANNELS, 3, 2, 1, bias=False) for _ in range(4))
        self.norm = torch.nn.GroupNorm(CHANNELS, CHANNELS)

    def forward(self, x):
        x = F.gelu(self.norm(self.convs[0](x)))
        for conv in self.convs[1:]:
            x = F.gelu(conv(x))
        return x


def backward_segments(module, *args):
    """What each segment of the backward pass stores and what it needs meanwhile, in bytes."""
    with recording() as graphs:
        torch.compile(module, backend="tokamak", fullgraph=True)(*args).square().mean().backward()
    (graph,) = [g for g in graphs if g.name == "backward"]
    return [segment.memory({}) for segment in graph.executables]


def test_activations_are_computed_again_when_their_turn_comes():
    """A segment stores what the next call reads, the gradient and the input of one convolution, and nothing for later
    segments: what an activation gave, and what the norm did, are computed where they are read."""
    torch._dynamo.reset()
    torch.manual_seed(5)
    segments = backward_segments(Stack(), torch.randn(1, CHANNELS, 8192))
    largest = CHANNELS * 4096 * 4
    assert len(segments) == 4
    for i, segment in enumerate(segments[:-1]):
        assert segment["outputs"] < 1.6 * largest / 2 ** (2 - i)
    assert segments[-1]["outputs"] < 1.1 * largest
    assert segments[-1]["peak"] < 0.1 * largest


@pytest.mark.parametrize("groups", [1, 4, CHANNELS])
def test_gradients_of_a_group_norm(groups):
    torch._dynamo.reset()
    torch.manual_seed(6)
    module, x = torch.nn.GroupNorm(groups, CHANNELS), torch.randn(3, CHANNELS, 5, 7, requires_grad=True)
    torch.nn.init.normal_(module.weight)
    exact = copy.deepcopy(module).double()
    wide = x.detach().double().requires_grad_()
    true = torch.autograd.grad(F.gelu(exact(wide)).square().sum(), [wide, *exact.parameters()])
    compiled = torch.compile(lambda x: F.gelu(module(x)), backend="tokamak", fullgraph=True)
    ours = torch.autograd.grad(compiled(x).square().sum(), [x, *module.parameters()])
    for a, t in zip(ours, true, strict=True):
        torch.testing.assert_close(a.double(), t, rtol=1e-4, atol=1e-5 * float(t.abs().max()))


class Attention(torch.nn.Module):
    """A norm, attention over a sequence too long to be two products, a product of what it gave in plain order."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = torch.nn.LayerNorm(64), torch.nn.Linear(64, 64)
        self.inputs = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(3))

    def forward(self, x):
        y = self.norm(x)
        q, k, v = (f(y).view(1, 512, 2, 32).transpose(1, 2).contiguous() for f in self.inputs)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(1, 512, 64))


def test_neither_outputs_of_norms_nor_copies_of_attention_are_saved():
    torch._dynamo.reset()
    torch.manual_seed(7)
    module, x = Attention(), torch.randn(1, 512, 64)
    compiled = torch.compile(module, backend="tokamak", fullgraph=True)
    assert kept_by(compiled, x) == 4  # attention's operands and what it gave
    theirs = gradients(module, module, x)
    for a, b in zip(gradients(module, compiled, x), theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()) + 1e-8)


class Tied(torch.nn.Module):
    """A table of words that is read at both ends, twice at the first."""

    def __init__(self, padding):
        super().__init__()
        self.words = torch.nn.Embedding(4096, 64, padding_idx=padding)

    def forward(self, index, other):
        return F.linear(torch.tanh(self.words(index)) + self.words(other), self.words.weight)


@pytest.mark.parametrize("padding", [None, 3])
def test_gradients_of_a_table_that_is_read_at_both_ends(padding):
    """One more of its size is there beside the result, not one for each reader and their sums."""
    torch._dynamo.reset()
    torch.manual_seed(8)
    module, table = Tied(padding), 4096 * 64 * 4
    indices = [torch.randint(0, 6, (2, 8)) for _ in range(2)]
    module(*indices).square().mean().backward()
    theirs = module.words.weight.grad.clone()
    module.zero_grad()
    segments = backward_segments(module, *indices)
    torch.testing.assert_close(module.words.weight.grad, theirs, rtol=1e-4, atol=1e-6)
    assert sum(s["peak"] for s in segments) < 1.2 * table


def test_graphs_beside_thrifty_ones_are_thrifty():
    """What a broken graph's convolutions saved is there until the end of the step: all its graphs share memory."""
    torch._dynamo.reset()
    torch.manual_seed(9)
    convs, layers = Block(), Layers()
    first = torch.compile(convs, backend="tokamak", fullgraph=True)
    second = torch.compile(layers, backend="tokamak", fullgraph=True)
    x = torch.randn(2, CHANNELS, SIZE, SIZE)

    def forward():
        for module in (convs, layers):
            module.zero_grad(set_to_none=True)
        return second(first(x).reshape(-1)[: 128 * 192].view(128, 192)).square().mean()

    forward().backward()
    forward().backward()
    engine().trim()
    before = engine().status()
    loss = forward()
    between = engine().status()
    loss.backward()
    after = engine().status()
    assert between["cached_bytes"] - before["cached_bytes"] < x.nbytes  # else what the gradients left, or a region
    assert after["cached_bytes"] - before["cached_bytes"] < x.nbytes
    assert after["in_use_bytes"] <= before["in_use_bytes"]
