"""Strides that eager gives on the CPU where torch's own tracing promises others.

What follows an op inherits its strides, so they have to be right where the op is traced. The copies that are written
here for their strides alone cost nothing: kernels compute values, and store results as they are promised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._prims_common import (
    compute_elementwise_output_logical_to_physical_perm,
    is_contiguous_or_false,
    suggest_memory_format,
)
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .importer.dims import inverse

aten = torch.ops.aten
is_dense = getattr(torch._prims_common, "is_non_overlapping_and_dense_or_false", None)
is_dense = is_dense or torch._prims_common.is_non_overlapping_and_dense  # torch 2.10


def plain(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous()


def suggested_by(x: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """The result as ATen suggests it for what is made of `x`: contiguous or channels last."""
    known = all(isinstance(n, int) for n in (*x.shape, *x.stride()))
    return result.contiguous(memory_format=suggest_memory_format(x)) if known else result


def suggested(x: torch.Tensor) -> torch.Tensor:
    return suggested_by(x, x)


def plain_lines(x: torch.Tensor) -> torch.Tensor:
    """Resampling, which alone is written so, turns results of planes and volumes itself, but not of lines."""
    return x.contiguous() if x.dim() == 3 else x


def dense(x: torch.Tensor) -> torch.Tensor:
    return x if is_dense(x) else x.clone()


def like(result: torch.Tensor, x: torch.Tensor, *_: Any) -> torch.Tensor:
    """The result as what is made empty like `x` lies."""
    if result.dim() != x.dim() or x.dim() < 2:
        return result
    return in_order(result, compute_elementwise_output_logical_to_physical_perm(x)[0])


def in_order(result: torch.Tensor, order: list[int]) -> torch.Tensor:
    """The result whose axes lie in this order, outermost first."""
    return result.permute(order).contiguous().permute(inverse(order))


LAYOUTS = {
    aten.pow.Scalar: (1, plain), aten.ldexp.Tensor: (1, plain), aten.log_sigmoid_forward.default: (0, plain),
    aten.im2col.default: (0, plain), aten.rrelu_with_noise_functional.default: (0, plain),
    aten._unsafe_index.Tensor: (0, plain_lines), aten.huber_loss.default: (0, dense),
    aten.index_fill.int_Scalar: (0, dense), aten.index_fill.int_Tensor: (0, dense),
    aten._native_batch_norm_legit.no_stats: (0, suggested),
    aten._native_batch_norm_legit_functional.default: (0, suggested),
    aten._native_batch_norm_legit_no_training.default: (0, suggested),
}  # fmt: skip
"""Ops whose result has the strides of one operand laid out so, and which operand."""


def laid_out(op: torch._ops.OpOverload, at: int, layout: Callable, then: Callable | None) -> Callable:
    """A decomposition into the op of the operand laid out; of one that lies so already it is `then`."""

    def decompose(*args: Any, **kwargs: Any) -> Any:
        x = args[at]
        if x.device.type == "cpu" and (moved := layout(x)) is not x:
            return op(*args[:at], moved, *args[at + 1 :], **kwargs)
        return then(*args, **kwargs) if then is not None else NotImplemented

    return decompose


RESULTS = {
    aten.channel_shuffle.default: lambda result, x, groups: suggested_by(x, result.clone() if groups == 1 else result),
    aten.glu_backward.default: lambda result, *args: result.contiguous(),
    aten.binary_cross_entropy.default: like,
    aten.binary_cross_entropy_backward.default: lambda result, grad, x, *args: like(result, x),
}
"""Ops whose result is laid out once it is made, and how."""


def result_laid_out(layout: Callable, then: Callable) -> Callable:
    def decompose(x: torch.Tensor, *args: Any) -> torch.Tensor:
        result = then(x, *args)
        return layout(result, x, *args) if x.device.type == "cpu" else result

    return decompose


ALIGNED = (
    aten.div.Tensor_mode, aten.xlogy.Tensor, aten.special_xlog1py.default, aten.logaddexp.default,
    aten.logaddexp2.default, aten.logical_and.default, aten.logical_or.default, aten.logical_xor.default,
    aten.heaviside.default,
)  # fmt: skip
"""Elementwise ops of two tensors whose tracing does not weigh the operands' strides as ATen does."""


def alike(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether two operands surely say the same of the result's strides."""
    if is_contiguous_or_false(x) and is_contiguous_or_false(y):
        return True
    return x.dim() == y.dim() and all(
        statically_known_true(a == b) for a, b in zip((*x.shape, *x.stride()), (*y.shape, *y.stride()), strict=True)
    )


def aligned(op: torch._ops.OpOverload, then: Callable | None) -> Callable:
    """A decomposition that turns operands of different strides so that the result's are in plain order, and back."""

    def decompose(x: Any, y: Any, **kwargs: Any) -> Any:
        tensors = all(isinstance(t, torch.Tensor) and t.device.type == "cpu" for t in (x, y))
        if tensors and not alike(x, y):
            order = compute_elementwise_output_logical_to_physical_perm(*torch.broadcast_tensors(x, y))[0]
            wide = [b if t.dim() else t for t, b in zip((x, y), torch.broadcast_tensors(x, y), strict=True)]
            turned = [t.permute(order).contiguous() if t.dim() else t for t in wide]  # one of rank 0 promotes less
            if alike(*turned):
                return op(*turned, **kwargs).permute(inverse(order))
        return then(x, y, **kwargs) if then is not None else NotImplemented

    return decompose


def roll(x: torch.Tensor, shifts: list[int], dims: list[int] = ()) -> torch.Tensor:
    """As ATen writes it, two parts put together: what is channels last stays so."""
    if x.device.type != "cpu" or len(dims) != len(shifts) or x.numel() == 0:
        return NotImplemented
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        start = (size - shift) % size
        x = torch.cat([x.narrow(dim, start, size - start), x.narrow(dim, 0, start)], dim)
    return x


def index(x: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    """Where axes of extent 1 stand before the picked ones, their order depends on the indices' strides, which tracing
    does not look at: the result without those axes, turned."""
    picked = [i for i, at in enumerate(indices) if at is not None]
    adjacent = bool(picked) and picked == list(range(picked[0], picked[-1] + 1))
    ones = [i for i in range(picked[0]) if statically_known_true(x.shape[i] == 1)] if adjacent else []
    masks = any(at is not None and at.dtype in (torch.bool, torch.uint8) for at in indices)
    if x.device.type != "cpu" or not ones or masks:
        return NotImplemented
    result = aten.index.Tensor(x.squeeze(ones), [at for i, at in enumerate(indices) if i not in ones])
    for i in ones:
        result = result.unsqueeze(i)
    places = torch.broadcast_tensors(*(indices[i] for i in picked))
    before, after = picked[0], x.dim() - picked[-1] - 1
    strides = [*x.stride()[:before], *[0] * places[0].dim(), *x.stride()[x.dim() - after :]]
    read = [at.reshape([1] * before + [*at.shape] + [1] * after).expand(result.shape) for at in places]
    order = compute_elementwise_output_logical_to_physical_perm(x.as_strided(result.shape, strides), *read)[0]
    return in_order(result, order)


def decompositions(table: dict) -> dict:
    """What replaces these ops' entries in the table."""
    in_line = {op: aligned(op, table.get(op)) for op in ALIGNED}
    laid = {op: laid_out(op, *how, table.get(op)) for op, how in LAYOUTS.items()}
    made = {op: result_laid_out(how, table[op]) for op, how in RESULTS.items()}
    return {aten.roll.default: roll, aten.index.Tensor: index} | in_line | laid | made
