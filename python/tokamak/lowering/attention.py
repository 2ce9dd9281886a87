"""Attention: ours where all scores fit into the caches.

ATen's kernel never has all scores at once and skips what a causal mask hides, which pays for long sequences; for short
ones two of the library's products, with the softmax as one kernel between them, are faster. A single query, as in
decoding, is two generated kernels that read the keys and the values once, where those lie dense. Training is ATen's,
because its backward pass wants the statistics of its forward pass.
"""

from __future__ import annotations

import operator

import torch

from tokamak.importer.dims import hint_of, shape_of

from .registry import Context, Unsupported, Value, lowers

SCORES = (1 << 14, 1 << 21)  # between which numbers of scores ours is the faster one
ONE_QUERY = 1 << 23  # elements of the keys up to which a single query is ours
CAUSAL = 192  # queries from which on ATen's gains more by skipping
ROW = 5  # rows of scores longer than so many queries, of which there are two at once, take more memory than eager does


def left_to_aten(node: torch.fx.Node) -> str | None:
    """Why ATen serves this node, as far as its inputs say."""
    if any(user.target is not operator.getitem or user.args[1] != 0 for user in node.users):
        return "its statistics are wanted, for the backward pass"
    query, key, value = (node.args[i].meta["val"] for i in range(3))
    dropout, causal = (node.args[i] if len(node.args) > i else default for i, default in ((3, 0.0), (4, False)))
    if dropout or node.kwargs.get("dropout_p", 0.0) or query.dtype != torch.float32:
        return "it is not plain attention in f32"
    causal = causal or node.kwargs.get("is_causal", False)
    if len({shape_of(t)[:2] for t in (query, key, value)}) > 1:
        return "its heads are shared"
    batch, heads, length, keys = (hint_of(d) for d in (*query.shape[:3], key.shape[2]))
    if query.shape[2] == 1 and key.is_contiguous() and value.is_contiguous() and hint_of(key.numel()) <= ONE_QUERY:
        return None
    scores = batch * heads * length * keys
    if not SCORES[0] <= scores <= SCORES[1] or (causal and length > CAUSAL):
        return "its own kernel is the faster one here"
    if keys > ROW * hint_of(query.shape[3]):
        return "its own kernel takes less memory here"
    return None


@lowers(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default, leaves=left_to_aten)
def attention(c: Context, q: Value, k: Value, v: Value, dropout_p: float = 0.0, is_causal: bool = False, *,
              attn_mask: Value | None = None, scale: float | None = None) -> tuple[Value, None]:  # fmt: skip
    if scale == 0 or (attn_mask is not None and attn_mask.dtype not in ("f32", "bool")):
        raise Unsupported("its scale or mask is none that is known here")
    words = [f"causal = {str(bool(is_causal)).lower()}", "safe = true", *([f"scale = {scale!r}"] if scale else [])]
    operands = [q, k, v] if attn_mask is None else [q, k, v, attn_mask]
    return c.b.op("attention", operands, ", ".join(words)), None
