"""Masks that hide nothing are no reason to compute all scores."""

import pytest
import torch
import torch.nn.functional as F
from tokamak.masks import ATTENTION, ease_masks, mask_of
from torch._subclasses.fake_tensor import FakeTensorMode

SHAPE = (2, 3, 8, 4)


def captured(function, *inputs):
    """Dynamo's graph of a function."""
    graphs = []

    def keep(module, _):
        graphs.append(module)
        return module

    torch._dynamo.reset()
    torch.compile(function, backend=keep, fullgraph=True)(*inputs)
    return graphs[0]


def attentions(module):
    return module.graph.find_nodes(op="call_function", target=ATTENTION)


def inputs():
    return [torch.randn(SHAPE) for _ in range(3)]


def everything(n):
    return (torch.arange(n)[None, None, :, None] + 0 >= 0).expand(2, -1, n, n)


def test_a_constant_mask_that_hides_nothing_is_left_out():
    def function(q, k, v):
        mask = everything(8)
        h = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return F.scaled_dot_product_attention(h, k, v, mask)

    module, args = captured(function, *inputs()), inputs()
    ease_masks(module)
    assert [mask_of(a) for a in attentions(module)] == [None, None]
    assert not module.graph.find_nodes(op="call_function", target=torch.arange)
    torch.testing.assert_close(module(*args)[0], function(*args))


def hides_some(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(8, 8).tril() > 0)


def changed_in_place(q, k, v):
    mask = everything(8).contiguous()
    mask[..., 3:] = False
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def changed_by_the_way(q, k, v):
    positions = torch.arange(8)
    mask = positions.view(8, 1) >= 0
    seen = positions.view(8)
    seen.sub_(9)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(8, 8)) + seen.sum()


def wanted_elsewhere(q, k, v):
    mask = everything(8)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask) * mask.sum()


def random_mask(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.rand(8, 8) >= 0)


@pytest.mark.parametrize("function", [hides_some, changed_in_place, changed_by_the_way, wanted_elsewhere, random_mask])
def test_other_masks_stay(function):
    module, args = captured(function, *inputs()), inputs()
    ease_masks(module)
    assert mask_of(attentions(module)[0]) is not None
    torch.testing.assert_close(module(*args)[0], function(*args))


def test_a_mask_that_came_from_outside_stays():
    module = captured(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), *inputs(), everything(8))
    ease_masks(module)
    assert mask_of(attentions(module)[0]) is not None


def test_on_a_gpu_a_mask_that_is_broadcast_to_all_keys_is_stored():
    function = lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m)  # noqa: E731
    mask = torch.rand(8, 1) > 0.5
    module = captured(function, *inputs(), mask.expand(8, 8))
    place = next(n for n in module.graph.nodes if n.op == "placeholder" and n.meta["example_value"].dtype == torch.bool)
    with FakeTensorMode():
        place.meta["example_value"] = torch.empty_strided((8, 8), (1, 0), dtype=torch.bool, device="cuda")
    ease_masks(module)
    whole = mask_of(attentions(module)[0])
    assert whole.target == "contiguous"
    args = (*inputs(), mask.expand(8, 8))
    torch.testing.assert_close(module(*args)[0], function(*args))


def test_compiled_with_such_a_mask():
    def function(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=everything(8)) * 2

    args = inputs()
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(function, backend="tokamak")(*args), function(*args))
