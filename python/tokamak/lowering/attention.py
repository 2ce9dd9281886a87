"""Attention, as two products with a softmax between them."""

from __future__ import annotations

from tokamak.importer.attention import ATTENTION, left_to_aten

from .registry import Context, Unsupported, Value, lowers


@lowers(ATTENTION)
def attention(c: Context, q: Value, k: Value, v: Value, dropout_p: float = 0.0, is_causal: bool = False, *,
              attn_mask: Value | None = None, scale: float | None = None) -> tuple[Value, None]:  # fmt: skip
    if reason := left_to_aten(c.node):
        raise Unsupported(reason)
    if scale == 0 or (attn_mask is not None and attn_mask.dtype not in ("f32", "bool")):
        raise Unsupported("its scale or mask is none that is known here")
    words = [f"causal = {str(bool(is_causal)).lower()}", "safe = true", *([f"scale = {scale!r}"] if scale else [])]
    operands = [q, k, v] if attn_mask is None else [q, k, v, attn_mask]
    return c.b.op("attention", operands, ", ".join(words)), None
