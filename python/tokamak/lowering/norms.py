"""Normalisations and their derivatives.

All are one formula with other axes: y = (x - mean) rstd weight + bias, where the statistics are over some axes of x and
the parameters lie along others. Halves are computed with in f32.
"""

from __future__ import annotations

from typing import Any

import torch

from tokamak.importer.segment import HALVES, product

from .algebra import Expr, exact, rounded, widened
from .registry import Context, Unsupported, Value, lowers

aten = torch.ops.aten


def expr(c: Context, x: Value | None) -> Expr | None:
    return None if x is None else Expr(c.b, widened(c, x))


def result(c: Context, x: Expr, index: int) -> Value:
    """The index-th result of the node, in its dtype and shape."""
    dtype, shape = c.type_of(c.fake[index])
    return c.b.reshape(rounded(c, x.value, dtype), shape)


def statistics(x: Expr, axes: list[int], eps: float) -> tuple[Expr, Expr]:
    return x.fold("mean", axes), (x.fold("var", axes) + eps).rsqrt()


def affine(x: Expr, weight: Expr | None, bias: Expr | None, shape: Any) -> Expr:
    """x weight + bias, whose elements lie along axes that `shape` (1 elsewhere) says."""
    if weight is not None:
        x = x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def input_gradient(grad: Expr, normal: Expr, rstd: Expr, axes: list[int]) -> Expr:
    """Of x, given that of the normalised x."""
    return rstd * (grad - grad.fold("mean", axes) - normal * (grad * normal).fold("mean", axes))


def parameter_gradients(c: Context, grad: Expr, normal: Expr, axes: list[int], mask: Any) -> list[Value | None]:
    """Of weight and bias: results 1 and 2, folded over the axes that they do not have."""
    wanted = [(1, lambda: grad * normal), (2, lambda: grad)]
    return [result(c, of().fold("sum", axes), i) if mask[i] else None for i, of in wanted]


# Layer norm: the last axes


@lowers(aten.native_layer_norm.default)
def layer_norm(c: Context, x: Value, shape: Any, weight: Value | None, bias: Value | None, eps: float) -> tuple:
    axes = list(range(x.rank - len(shape), x.rank))
    wide = expr(c, x)
    mean, rstd = statistics(wide, axes, eps)
    y = affine((wide - mean) * rstd, expr(c, weight), expr(c, bias), x.shape[axes[0] :])
    return result(c, y, 0), result(c, mean, 1), result(c, rstd, 2)


@lowers(aten.native_layer_norm_backward.default)
def layer_norm_backward(c: Context, grad: Value, x: Value, shape: Any, mean: Value, rstd: Value, weight: Value | None,
                        bias: Value | None, mask: Any) -> tuple:  # fmt: skip
    first = x.rank - len(shape)
    outer, inner = list(range(first)), list(range(first, x.rank))
    grad, rstd, weight = expr(c, grad), expr(c, rstd), expr(c, weight)
    normal = (expr(c, x) - expr(c, mean)) * rstd
    along = grad if weight is None else grad * weight.reshape(x.shape[first:])
    dx = result(c, input_gradient(along, normal, rstd, inner), 0) if mask[0] else None
    return dx, *parameter_gradients(c, grad, normal, outer, mask)


# Group norm: each group of channels, as [N, G, C / G, rest]


def grouped(x: Value, groups: int) -> tuple[list, list]:
    """The shape [N, G, C / G, rest] of x, and that of the parameters in it."""
    if not isinstance(x.shape[1], int):
        raise Unsupported("the number of channels is symbolic")
    channels = x.shape[1] // groups
    return [x.shape[0], groups, channels, product(x.shape[2:])], [1, groups, channels, 1]


@lowers(aten.native_group_norm.default)
def group_norm(c: Context, x: Value, weight: Value | None, bias: Value | None, n: Any, channels: Any, rest: Any,
               groups: int, eps: float) -> tuple:  # fmt: skip
    shape, parameters = grouped(x, groups)
    wide = expr(c, x).reshape(shape)
    mean, rstd = statistics(wide, [2, 3], eps)
    y = affine((wide - mean) * rstd, expr(c, weight), expr(c, bias), parameters)
    return result(c, y, 0), result(c, mean, 1), result(c, rstd, 2)


@lowers(aten.native_group_norm_backward.default)
def group_norm_backward(c: Context, grad: Value, x: Value, mean: Value, rstd: Value, weight: Value | None, n: Any,
                        channels: Any, rest: Any, groups: int, mask: Any) -> tuple:  # fmt: skip
    shape, parameters = grouped(x, groups)
    each = [shape[0], groups, 1, 1]
    grad, rstd = expr(c, grad).reshape(shape), expr(c, rstd).reshape(each)
    normal = (expr(c, x).reshape(shape) - expr(c, mean).reshape(each)) * rstd
    along = affine(grad, expr(c, weight), None, parameters)
    if c.importer.device.type == "cpu":
        return channel_gradients(c, grad, along, normal, rstd, expr(c, weight), parameters, mask)
    dx = result(c, input_gradient(along, normal, rstd, [2, 3]), 0) if mask[0] else None
    return dx, *parameter_gradients(c, grad, normal, [0, 3], mask)


def channel_gradients(c: Context, grad: Expr, along: Expr, normal: Expr, rstd: Expr, weight: Expr | None,
                      parameters: list, mask: Any) -> tuple:  # fmt: skip
    """Of a group norm's x, weight and bias from the same two sums for each channel: grad and normal are read for them
    once, and nothing of their size is made before dx."""
    sums = [(grad * normal).fold("sum", [3]), grad.fold("sum", [3])]
    dx = None
    if mask[0]:
        count = count_of(normal, [2, 3])
        by_normal, alone = (affine(s, weight, None, parameters).fold("sum", [2]) / count for s in sums)
        dx = result(c, rstd * (along - alone - normal * by_normal), 0)
    return dx, *(result(c, s.fold("sum", [0]), i) if mask[i] else None for i, s in enumerate(sums, 1))


# Batch norm: all axes but the channels


def channels_of(x: Value) -> tuple[list[int], list]:
    """The axes that the statistics fold, and the shape of what there is one of for each channel."""
    if x.rank < 2:
        raise Unsupported("there is no axis of channels")
    return [a for a in range(x.rank) if a != 1], [x.shape[1] if a == 1 else 1 for a in range(x.rank)]


def count_of(x: Expr, axes: list[int]) -> Expr:
    """How many elements a fold of these axes takes, in the dtype of x."""
    return Expr(x.b, x.b.cast(x.b.size(product([x.shape[a] for a in axes])), x.value.dtype))


def saved_statistics(c: Context, x: Expr, axes: list[int], mean: Expr, var: Expr, eps: float) -> list[Expr]:
    """Mean and rstd as eager saves them and normalises by: halves, in bf16 of a variance that was rounded itself."""
    dtype = c.type_of(c.fake[1])[0]
    if dtype == "bf16":
        count = count_of(x, axes)
        var = ((var * count).cast(dtype).cast("f32") / count).cast(dtype).cast("f32")
    saved = [mean, (var + eps).rsqrt()]
    return [v.cast(dtype).cast("f32") for v in saved] if dtype in HALVES else saved


def scaled(x: Expr, mean: Expr, rstd: Expr, weight: Expr | None, bias: Expr | None, each: list) -> Expr:
    """Normalised by statistics in f64: as eager does, x scale + shift, but for a shift that knows the rounded scale."""
    scale = affine(rstd, None if weight is None else weight.cast("f64"), None, each).cast("f32")
    shift = affine(-(mean * scale.cast("f64")), None, None if bias is None else bias.cast("f64"), each)
    return x * scale + shift.cast("f32")


def unsaved_statistics(c: Context, mean: Value, var: Value, eps: float) -> list[Value]:
    """What eager gives as saved mean and rstd in inference: on a GPU those it used, on the CPU nothing."""
    if all(isinstance(n, int) and n == 0 for n in c.fake[1].shape):
        return [c.b.full(0, *c.type_of(f)) for f in c.fake[1:3]]
    return [result(c, expr(c, mean), 1), result(c, (expr(c, var) + eps).rsqrt(), 2)]


def channels_are_last(fake: torch.Tensor) -> bool:
    """Of images: there eager's statistics are in f32 too. Asks for nothing where a size is not known."""
    known = fake.dim() == 4 and all(isinstance(s, int) for s in fake.shape)
    return known and fake.is_contiguous(memory_format=torch.channels_last) and not fake.is_contiguous()


def batch_norm(c: Context, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None,
               training: bool, momentum: float, eps: float) -> list[Value]:  # fmt: skip
    """The results y, saved mean and saved rstd, and the running statistics after the call."""
    axes, each = channels_of(x)
    wide, weight, bias = expr(c, x), expr(c, weight), expr(c, bias)
    if not training:
        m, v = expr(c, mean).reshape(each), expr(c, var).reshape(each)
        y = affine((wide - m) * (v + eps).rsqrt(), weight, bias, each)
        kept = [result(c, expr(c, v), i) for i, v in ((3, mean), (4, var)) if i < len(c.fake)]
        return [result(c, y, 0), *unsaved_statistics(c, mean, var, eps), *kept]
    whole = wide if channels_are_last(c.fake[0]) else Expr(c.b, exact(c, x))
    now, spread = whole.fold("mean", axes), whole.fold("var", axes)
    m, rstd = saved_statistics(c, whole, axes, now, spread, eps)
    if m.value.dtype == wide.value.dtype:
        y = affine((wide - m) * rstd, weight, bias, each)
    else:
        y = scaled(wide, m, rstd, weight, bias, each)
    out = [result(c, y, 0), result(c, m, 1), result(c, rstd, 2)]
    if len(c.fake) > 3:
        count = count_of(whole, axes)
        for i, running, new in ((3, mean, now), (4, var, spread * (count / (count - 1)))):
            kept = expr(c, running).cast(new.value.dtype) * (1 - momentum)
            out.append(result(c, kept + new.reshape(kept.shape) * momentum, i))
    return out


@lowers(aten._native_batch_norm_legit_functional.default)
def batch_norm_functional(c: Context, *args: Any) -> list[Value]:
    return batch_norm(c, *args)


@lowers(aten._native_batch_norm_legit.no_stats)
def batch_norm_no_stats(
    c: Context, x: Value, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> list:
    return batch_norm(c, x, weight, bias, None, None, True, momentum, eps)


@lowers(aten._native_batch_norm_legit_no_training.default)
def batch_norm_inference(c: Context, x: Value, weight: Any, bias: Any, mean: Value, var: Value, momentum: float,
                         eps: float) -> list[Value]:  # fmt: skip
    operands = [v for v in (x, weight, bias, mean, var) if v is not None]
    if (weight is None) != (bias is None) or x.rank < 2 or any(v.dtype != x.dtype for v in operands):
        return batch_norm(c, x, weight, bias, mean, var, False, momentum, eps)
    affine = ", affine = true" if weight is not None else ""
    y = c.b.op("norm", operands, f"kind = batch, eps = {eps!r}{affine}")
    return [y, *unsaved_statistics(c, mean, var, eps)]


SMALL = 1 << 16  # elements; what is smaller is a matter of launches, whoever's kernel it is


def as_eager(node: torch.fx.Node) -> str | None:
    """Eager's kernel for images of halves whose channels are not last seems to round on its way, products and sums that
    lanes give each other. Gradients that nearly cancel are made of that: with ours residual blocks differed from eager
    in 6 of 40 seeds, with ATen's own in none."""
    x = node.args[1].meta["val"]
    if x.device.type != "cuda" or x.dtype not in (torch.float16, torch.bfloat16) or x.dim() < 3:
        return None
    small = all(isinstance(s, int) for s in x.shape) and x.numel() <= SMALL
    return "it is small, and ATen rounds its sums on the way" if small and x.stride(1) != 1 else None


@lowers(aten.native_batch_norm_backward.default, leaves=as_eager)
def batch_norm_backward(c: Context, grad: Value, x: Value, weight: Value | None, mean: Value | None, var: Value | None,
                        save_mean: Value | None, save_rstd: Value | None, training: bool, eps: float,
                        mask: Any) -> tuple:  # fmt: skip
    axes, each = channels_of(x)
    grad, weight = expr(c, grad), expr(c, weight)
    count = count_of(grad, axes)
    if training:
        m, rstd = expr(c, save_mean).reshape(each), expr(c, save_rstd).reshape(each)
    else:
        m, rstd = expr(c, mean).reshape(each), (expr(c, var).reshape(each) + eps).rsqrt()
    centred = expr(c, x) - m
    total, along = grad.fold("sum", axes), (grad * centred).fold("sum", axes)
    scale = affine(rstd, weight, None, each)
    dx = grad - total / count - centred * (along * rstd * rstd / count) if training else grad
    out = (dx * scale, along * rstd, total)
    return tuple(result(c, v, i) if mask[i] else None for i, v in enumerate(out))
