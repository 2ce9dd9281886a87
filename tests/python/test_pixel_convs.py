"""Convolutions of single pixels become products on a GPU."""

import pytest
import torch
import torch.nn.functional as F
from tokamak.importer.graph import Importer
from tokamak.lowering import registry
from tokamak.pixel_convs import is_product, make_products, rewrite
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

CONVOLUTION = torch.ops.aten.convolution.default


def traced(function, *shapes, dtype=torch.bfloat16, device="cuda"):
    with FakeTensorMode():
        inputs = [torch.empty(shape, device=device, dtype=dtype) for shape in shapes]
        return make_fx(function, tracing_mode="fake")(*inputs)


def convolutions(module):
    return module.graph.find_nodes(op="call_function", target=CONVOLUTION)


def squeeze(x, w, b, v, c):
    return (torch.sigmoid(F.conv2d(F.conv2d(x, w, b).relu(), v, c)),)


SHAPES = ((4, 16, 1, 1), (8, 16, 1, 1), (8,), (16, 8, 1, 1), (16,))


def test_squeeze_and_excitation_is_two_products_with_a_relu_in_one():
    module = traced(squeeze, *SHAPES)
    make_products(module)
    assert not convolutions(module)
    registry.table()
    importer = Importer(module, "inference", has_products=True)
    importer.run()
    assert not importer.refusals and not importer.after
    first, second = (importer.segments[i].graph.text() for i in range(2))
    assert " = relu" in first and first.count("matmul") == 1 and second.count("matmul") == 1


@pytest.mark.parametrize("bias", [True, False])
def test_the_numbers_are_the_same(bias):
    x, w, b = torch.randn(4, 16, 1, 1), torch.randn(8, 16, 1, 1), torch.randn(8)
    function = (lambda x, w, b: F.conv2d(x, w, b)) if bias else (lambda x, w, b: F.conv2d(x, w))
    for order in (torch.contiguous_format, torch.channels_last):
        args = (x.to(memory_format=order), w.to(memory_format=order), b)
        module = make_fx(function, tracing_mode="fake")(*args)
        rewrite(module, convolutions(module)[0])
        module.recompile()
        torch.testing.assert_close(module(*args), function(*args))


def test_other_convolutions_stay():
    shapes = ((4, 16, 1, 1), (8, 16, 1, 1))
    assert is_product(convolutions(traced(F.conv2d, *shapes))[0])
    assert not is_product(convolutions(traced(F.conv2d, *shapes, dtype=torch.float32))[0])
    assert not is_product(convolutions(traced(F.conv2d, *shapes, device="cpu"))[0])
    assert not is_product(convolutions(traced(F.conv2d, (4, 16, 2, 1), shapes[1]))[0])
    assert not is_product(convolutions(traced(lambda x, w: F.conv2d(x, w, padding=1), *shapes))[0])
    assert not is_product(convolutions(traced(lambda x, w: F.conv2d(x, w, groups=2), shapes[0], (8, 8, 1, 1)))[0])
    assert not is_product(convolutions(traced(F.conv_transpose2d, shapes[0], (16, 8, 1, 1)))[0])
