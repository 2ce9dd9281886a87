"""Softmax, over everything or over what a mask keeps, and attention."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..index import Axes, Expr, Fold, Get, Number, Value, Where
from .arithmetic import call, filled, pointwise, unmasked
from .products import contraction
from .registry import op
from .views import widened, wrap

LOWEST = -1e300
"""Below every value: what is not kept never is the largest."""


def pattern_at(trace: Any, value: Value, axes: Axes) -> Get:
    """The pattern of a value at variables. T0915 where it has none."""
    pattern = value.pattern
    if pattern is None or pattern.base is None or not pattern.base.is_input:
        raise trace.refuse(
            "this is for stored entries alone, and no sparse input says which these are",
            "apply it to a sparse input, or to a product with one; or use tokamak.sparse.masked_softmax(x, mask)",
            "T0915",
        )
    get = pattern.at(axes)
    assert isinstance(get, Get)
    return get


def restricted(trace: Any, hint: str, shapes: Any, vars: Axes, value: Expr, like: Value) -> Value:
    """A statement for the stored entries of `like`'s pattern alone."""
    body = Where(pattern_at(trace, like, vars), value)
    return trace.define(hint, tuple(shapes.shape), shapes.dtype, vars, body, pattern=like.pattern)


def normalised(
    trace: Any, shapes: Any, x: Value, axis: int, pattern: Value | None, keep: Value | None, log: bool
) -> Value:
    """softmax along an axis: of the entries of `pattern` alone if there is one, and of these where `keep` is true."""
    shape, rank = x.shape, len(x.shape)
    if rank == 0 or (not x.axes[axis] and pattern is None and keep is None):
        size = shape[axis] if rank else 1
        number = -math.log(size) if log else 1 / size
        return Value(tuple(shapes.shape), shapes.dtype, [[] for _ in shape], None, number)
    operands = [x] + [widened(v, shape) for v in (pattern, keep) if v is not None]
    vars, read = trace.aligned(operands, shape)
    value = read[0]
    over = vars[axis]
    where = read[1] if pattern is not None else None
    condition = read[-1] if keep is not None else None
    patterns = [where] if isinstance(where, Get) else []
    rows = [vars[a] if a != axis else [] for a in range(rank)]
    flat = [1 if a == axis else size for a, size in enumerate(shape)]

    def limited(expr: Expr) -> Expr:
        return Where(patterns[0], expr) if patterns else expr

    largest = Fold("max", over, value if condition is None else call("select", condition, value, LOWEST), patterns)
    top = trace.define("rowmax", flat, shapes.dtype, rows, largest)
    known = pattern if pattern is not None else None
    raised: Expr = call("exp", call("sub", value, top.at(rows)))
    raised = raised if condition is None else call("select", condition, raised, 0)
    powers = trace.define("powers", shape, shapes.dtype, vars, limited(raised), pattern=known and widened(known, shape))
    total = trace.define("total", flat, shapes.dtype, rows, Fold("sum", over, powers.at(vars)))
    if not log:
        share = call("div", powers.at(vars), total.at(rows))
        return trace.define("softmax", shape, shapes.dtype, vars, share, pattern=powers.pattern)
    logs = call("sub", call("sub", value, top.at(rows)), call("log", total.at(rows)))
    return trace.define("log_softmax", shape, shapes.dtype, vars, limited(logs), pattern=powers.pattern)


def softmax_of(trace: Any, shapes: Any, x: Value, axis: int, log: bool) -> Value:
    axis = wrap(axis, len(x.shape))
    if x.mask is None:
        return normalised(trace, shapes, x, axis, None, None, log)
    if log:
        return normalised(trace, shapes, unmasked(trace, x), axis, None, None, log)
    kept, condition = x.mask
    pattern = condition.pattern
    if pattern is not None and not pattern.base.is_input:
        pattern = None
    return normalised(trace, shapes, widened(kept, x.shape), axis, pattern, condition, log)


@op("softmax", "_softmax", "special_softmax", "_safe_softmax")
def softmax(trace, shapes, x, axis, *_, **__):
    return softmax_of(trace, shapes, x, axis, False)


@op("log_softmax", "_log_softmax", "special_log_softmax")
def log_softmax(trace, shapes, x, axis, *_, **__):
    return softmax_of(trace, shapes, x, axis, True)


@op("_sparse_softmax", no_meta=True)
def sparse_softmax(trace, _, x, axis, *__, dtype=None, **___):
    return _sparse(trace, x, axis, dtype, False)


@op("_sparse_log_softmax", no_meta=True)
def sparse_log_softmax(trace, _, x, axis, *__, dtype=None, **___):
    return _sparse(trace, x, axis, dtype, True)


def _sparse(trace: Any, x: Value, axis: int, dtype: Any, log: bool) -> Value:
    """torch.sparse.softmax: an entry that is not stored counts as -inf."""
    shapes = torch.empty(x.shape, dtype=dtype or x.dtype, device="meta")
    pattern_at(trace, x, x.fresh())
    return normalised(trace, shapes, x, wrap(axis, len(x.shape)), x.pattern, None, log)


@op("stored", no_meta=True)
def stored(trace, _, mask):
    """tokamak.sparse.stored: 1 where the mask stores an entry."""
    if mask.pattern is None:  # a dense tensor
        like = torch.empty(mask.shape, dtype=mask.dtype, device="meta")
        return pointwise(trace, like, "stored", [mask], lambda m: call("ne", m, 0))
    vars = mask.fresh()
    body = Where(pattern_at(trace, mask, vars), Number(1.0))
    dtype = mask.dtype if mask.dtype.is_floating_point else torch.float32
    return trace.define("stored", mask.shape, dtype, vars, body, pattern=mask.pattern)


@op("masked_softmax", no_meta=True)
def masked_softmax(trace, _, scores, mask, dim):
    """tokamak.sparse.masked_softmax: over the stored entries of the mask."""
    shape = torch.broadcast_shapes(scores.shape, mask.shape)
    like = torch.empty(shape, dtype=scores.dtype, device="meta")
    scores, mask = widened(unmasked(trace, scores), shape), widened(mask, shape)
    axis = wrap(dim, len(shape))
    if mask.pattern is None:
        return normalised(trace, like, scores, axis, None, mask, False)
    pattern_at(trace, mask, mask.fresh())
    return normalised(trace, like, scores, axis, mask.pattern, None, False)


@op("scaled_dot_product_attention")
def attention(trace, shapes, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if dropout_p > 0:
        raise trace.refuse("attention with dropout is random", "pass dropout_p=0.0, or call model.eval() first")
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        raise trace.refuse("attention with grouped heads", "repeat the heads of keys and values with repeat_interleave")
    letters = "abcdefgh"[: len(q.shape) - 2]
    shape = (*q.shape[:-1], k.shape[-2])
    like = torch.empty(shape, dtype=q.dtype, device="meta")
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = contraction(trace, "scores", [(q, letters + "ik"), (k, letters + "jk")], letters + "ij", like)
    scores = pointwise(trace, like, "scaled", [scores], lambda x: call("mul", x, factor))
    if is_causal:
        keep = torch.ones(shape[-2:], dtype=torch.float32).tril().to_sparse_csr()
        attn_mask = trace.constant(keep)
        attn_mask.dtype = torch.bool
        trace.held.append(keep)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = filled(trace, like, scores, attn_mask)
    elif attn_mask is not None:
        scores = pointwise(trace, like, "biased", [scores, attn_mask], lambda x, m: call("add", x, m))
    shares = softmax_of(trace, like, scores, -1, False)
    return contraction(trace, "attended", [(shares, letters + "ij"), (v, letters + "jk")], letters + "ik", shapes)
