"""Views and copies: what moves elements and computes nothing."""

from __future__ import annotations

import torch

from .registry import Context, Extent, Unsupported, Value, lowers

aten = torch.ops.aten


@lowers(
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.unsqueeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.squeeze.default,
)
def view(c: Context, x: Value, *args) -> Value:
    return c.b.reshape(x, c.shape)


@lowers(aten.alias.default, aten.detach.default)
def alias(c: Context, x: Value) -> Value:
    return x


@lowers(aten.permute.default)
def permute(c: Context, x: Value, dims) -> Value:
    return c.b.transpose(x, [d % max(1, x.rank) for d in dims])


@lowers(aten.t.default)
def t(c: Context, x: Value) -> Value:
    return c.b.transpose(x, list(reversed(range(x.rank))))


@lowers(aten.transpose.int)
def transpose(c: Context, x: Value, a: int, b: int) -> Value:
    perm = list(range(x.rank))
    if perm:
        perm[a], perm[b] = perm[b], perm[a]
    return c.b.transpose(x, perm)


@lowers(aten.expand.default)
def expand(c: Context, x: Value, size, implicit: bool = False) -> Value:
    return c.b.broadcast_to(x, c.shape)
