"""Attention of short sequences is two products and a softmax of ours, of long ones ATen's; both agree with eager."""

from __future__ import annotations

import pytest
import tokamak.backend as backend
import torch
import torch.nn.functional as F
from checks import compare, numbers

ATEN = "_scaled_dot_product_flash_attention_for_cpu"


def heads(batch: int, heads: int, length: int, width: int, seed: int = 0) -> torch.Tensor:
    """As a projection gives them: the heads of one position lie together."""
    return numbers(batch, length, heads * width, seed=seed).view(batch, length, heads, width).transpose(1, 2)


def operands(batch: int, count: int, queries: int, keys: int, width: int = 32) -> list[torch.Tensor]:
    return [heads(batch, count, n, width, seed) for seed, n in enumerate((queries, keys, keys))]


def masks(batch: int, count: int, queries: int, keys: int) -> dict[str, torch.Tensor]:
    hidden = torch.zeros(batch, 1, queries, keys).masked_fill(
        numbers(batch, 1, queries, keys, seed=5) > 0.5, -torch.inf
    )
    hidden[0, 0, 3] = -torch.inf  # a query that sees nothing
    return {
        "added": numbers(1, count, queries, keys, seed=4),
        "hiding": hidden,
        "of keys": numbers(batch, 1, 1, keys, seed=6),
        "bool": numbers(queries, keys, seed=7) > 0,
    }


@pytest.mark.parametrize("queries, keys", [(96, 96), (70, 130)])
def test_short_sequences_are_ours(queries: int, keys: int) -> None:
    q, k, v = operands(2, 8, queries, keys)
    functions = {
        "plain": F.scaled_dot_product_attention,
        "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "scaled": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3).transpose(1, 2).flatten(2),
    }
    with torch.no_grad():
        compare(functions, [q, k, v])


@pytest.mark.parametrize("kind", ["added", "hiding", "of keys", "bool"])
def test_masks(kind: str) -> None:
    mask = masks(2, 8, 96, 100)[kind]
    with torch.no_grad():
        compare(lambda *args: F.scaled_dot_product_attention(*args), [*operands(2, 8, 96, 100), mask])


def called(function, *args: torch.Tensor) -> list[str]:
    torch._dynamo.reset()
    with backend.recording() as graphs:
        torch.compile(function, backend="tokamak", dynamic=False)(*args)
    return [r.op for g in graphs for r in g.refusals if ATEN in r.op]


def test_long_ones_and_training_are_left_to_aten() -> None:
    def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    assert called(F.scaled_dot_product_attention, *operands(1, 2, 1100, 1100))
    assert called(causal, *operands(1, 8, 256, 256))
    assert called(F.scaled_dot_product_attention, *operands(1, 2, 16, 16))
    assert not called(F.scaled_dot_product_attention, *operands(2, 8, 96, 96))
    assert called(F.scaled_dot_product_attention, *operands(2, 8, 96, 200)), "its scores take too much memory"
    assert called(F.scaled_dot_product_attention, *(t.detach().requires_grad_() for t in operands(2, 8, 96, 96)))


@pytest.mark.parametrize("keys", [1, 7, 300])
def test_a_single_query_over_dense_keys_is_ours(keys: int) -> None:
    def repeated(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        k, v = (t[:, :2, None].expand(-1, -1, 4, -1, -1).reshape(t.shape) for t in (k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    q, k, v = (t.contiguous() for t in operands(2, 8, 1, keys, width=64))
    functions = {
        "plain": F.scaled_dot_product_attention,
        "masked": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=k[:, :, :, :1].mT > 0),
        "added": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=k[:, :1, :, :1].mT),
        "repeated": repeated,
    }
    with torch.no_grad():
        compare(functions, [q, k, v])
        for function in functions.values():
            assert not called(function, q, k, v)
        assert keys == 1 or called(F.scaled_dot_product_attention, *operands(2, 8, 1, keys, width=64))


def test_decoding_with_a_growing_cache_compiles_twice_at_most() -> None:
    torch._dynamo.reset()
    with backend.recording() as graphs, torch.no_grad():
        compiled = torch.compile(F.scaled_dot_product_attention, backend="tokamak", dynamic=None)
        for keys in (5, 6, 7, 130):
            args = [t.contiguous() for t in operands(1, 4, 1, keys, width=32)]
            torch.testing.assert_close(compiled(*args), F.scaled_dot_product_attention(*args), rtol=1e-5, atol=1e-5)
    assert len(graphs) <= 2


def test_one_compilation_serves_other_lengths() -> None:
    torch._dynamo.reset()
    with backend.recording() as graphs, torch.no_grad():
        compiled = torch.compile(F.scaled_dot_product_attention, backend="tokamak", dynamic=True)
        for n in (96, 128, 7, 300):
            args = operands(2, 8, n, n)
            torch.testing.assert_close(compiled(*args), F.scaled_dot_product_attention(*args), rtol=1e-5, atol=1e-5)
    assert len(graphs) <= 2
