"""What the backward pass needs of a norm's output it computes again."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F


def saved_and_gradients(function, arguments):
    """How many tensors as large as the first argument autograd keeps, and the gradients of all arguments."""
    torch._dynamo.reset()
    kept = {}

    def pack(tensor):
        if tensor.numel() == arguments[0].numel():
            kept[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = torch.compile(function, backend="tokamak", fullgraph=True)(*arguments)
    return len(kept), torch.autograd.grad(out.square().sum(), arguments)


def norm_gelu(x, w, b):
    return F.gelu(F.layer_norm(x, x.shape[-1:], w, b)) + x


def group_silu(x, w, b):
    return F.silu(F.group_norm(x, 4, w, b))


def without_parameters(x):
    return F.gelu(F.layer_norm(x, x.shape[-2:]), approximate="tanh")


CASES = {
    "layer": (norm_gelu, (6, 5, 48), (48,)),
    "group": (group_silu, (3, 8, 5, 7), (8,)),
    "plain": (without_parameters, (6, 5, 48), None),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_only_the_input_is_saved(case, dtype):
    function, shape, parameters = CASES[case]
    torch.manual_seed(3)
    shapes = [shape] + ([parameters] * 2 if parameters else [])
    arguments = [torch.randn(s, dtype=dtype, requires_grad=True) for s in shapes]
    saved, got = saved_and_gradients(function, arguments)
    assert saved == 1
    exact_arguments = [a.detach().double().requires_grad_() for a in arguments]
    exact = torch.autograd.grad(function(*exact_arguments).square().sum(), exact_arguments)
    eager = torch.autograd.grad(function(*arguments).square().sum(), arguments)
    for ours, theirs, true in zip(got, eager, exact, strict=True):
        allowed = 1.5 * float((theirs.double() - true).abs().max()) + 1e-5 * float(true.abs().max())
        assert float((ours.double() - true).abs().max()) <= allowed


def test_an_output_that_a_product_reads_is_written_again():
    def norm_linear(x, w, b, m):
        return F.layer_norm(x, x.shape[-1:], w, b) @ m

    torch.manual_seed(3)
    arguments = [torch.randn(s, requires_grad=True) for s in ((40, 48), (48,), (48,), (48, 16))]
    saved, got = saved_and_gradients(norm_linear, arguments)
    assert saved == 1
    eager = torch.autograd.grad(norm_linear(*arguments).square().sum(), arguments)
    for ours, theirs in zip(got, eager, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


def test_an_output_that_a_product_reads_by_a_cast_is_written_again_too():
    def norm_linear(x, w, b, m):
        with torch.autocast("cpu", torch.bfloat16):
            return F.layer_norm(x, x.shape[-1:], w, b) @ m

    torch.manual_seed(3)
    arguments = [torch.randn(s, requires_grad=True) for s in ((40, 48), (48,), (48,), (48, 16))]
    saved, _ = saved_and_gradients(norm_linear, arguments)
    assert saved == 1


def test_sizes_may_change():
    function = torch.compile(norm_gelu, backend="tokamak", dynamic=True)
    for rows in (3, 8, 17):
        arguments = [torch.randn(s, requires_grad=True) for s in ((rows, 48), (48,), (48,))]
        got = torch.autograd.grad(function(*arguments).sum(), arguments)
        eager = torch.autograd.grad(norm_gelu(*arguments).sum(), arguments)
        for ours, theirs in zip(got, eager, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_what_is_written_again_lies_as_the_norm_gives_it():
    torch._dynamo.reset()
    x = torch.randn(8, 10).t().requires_grad_()
    assert torch.compile(lambda x: F.layer_norm(x, (8,)), backend="tokamak")(x).stride() == (8, 1)
