"""Which ATen ops are taken apart before they reach the lowerings, and how.

Torch's core decompositions, but for ops that are lowered as one: fewer nodes, and halves rounded once as eager does.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch.fx.experimental.symbolic_shapes import statically_known_true

from . import absent, splits, strides, unheld

aten = torch.ops.aten

KEPT_WHOLE = (
    aten.native_layer_norm, aten.native_group_norm, aten.native_dropout, aten.addmm, aten.convolution, aten._softmax,
    aten._log_softmax, aten._scaled_dot_product_flash_attention_for_cpu,
    aten.native_layer_norm_backward, aten.native_group_norm_backward, aten.native_batch_norm_backward,
    aten._softmax_backward_data, aten._log_softmax_backward_data, aten.logsumexp, aten.std, aten.all,
    aten.silu, aten.mish, aten.hardswish, aten.hardsigmoid, aten.softplus, aten.threshold, aten.hardshrink,
    aten.softshrink, aten._prelu_kernel, aten.log_sigmoid_forward, aten.sigmoid_backward, aten.tanh_backward,
    aten.silu_backward, aten.gelu_backward, aten.mish_backward, aten.hardswish_backward, aten.hardsigmoid_backward,
    aten.hardtanh_backward, aten.threshold_backward, aten.leaky_relu_backward, aten._prelu_kernel_backward,
    aten.elu_backward, aten.softplus_backward, aten.log_sigmoid_backward, aten.frac, aten.addcmul, aten.addcdiv,
    aten.lerp, aten.logaddexp, aten.logaddexp2, aten.xlogy, aten.special_xlog1py, aten.special_entr, aten.sinc,
    aten.logit, aten.logit_backward, aten.heaviside, aten.nan_to_num, aten.isfinite,
    aten.roll, aten.slice_backward, aten.select_backward, aten.embedding_dense_backward, aten._unsafe_index,
    aten._unsafe_index_put,
)  # fmt: skip
"""Ops that are ours, or ATen's, as a whole: the table of decompositions must not take them apart."""


HALVES = (torch.float16, torch.bfloat16)


def in_f32(norm: torch._ops.OpOverload, weight_at: int) -> Any:
    """A norm of halves with parameters in f32: its statistics are f32 in eager, but halves in torch's meta functions,
    which would cost the backward pass digits."""

    def decompose(x: torch.Tensor, *rest: Any) -> Any:
        weight = rest[weight_at - 1]
        if x.dtype not in HALVES or weight is None or weight.dtype != torch.float32:
            return NotImplemented
        y, *others = norm(x.float(), *rest)
        return y.to(x.dtype), *others

    return decompose


MIXED_NORMS = {
    norm: in_f32(norm, weight_at)
    for norm, weight_at in (
        (aten.native_layer_norm.default, 2), (aten.native_group_norm.default, 1),
        (aten._native_batch_norm_legit.no_stats, 1), (aten._native_batch_norm_legit_functional.default, 1),
    )
}  # fmt: skip


def take(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Torch's own indexes with a 0-d tensor as it is, which reads its value while tracing."""
    return aten.index.Tensor(x.reshape(-1), [index.reshape(-1)]).reshape(index.shape)


def select_scatter(x: torch.Tensor, source: torch.Tensor, dim: int, index: int) -> torch.Tensor:
    """Torch's own gives the dtype to which both promote, not that of `x`."""
    end = None if isinstance(index, int) and index == -1 else index + 1
    return aten.slice_scatter.default(x, source.to(x.dtype).unsqueeze(dim), dim, index, end)


def pow_scalar(x: torch.Tensor, exponent: Any) -> torch.Tensor:
    """Torch's tracing takes a bool to a bool's power for an integer."""
    if x.dtype is not torch.bool or type(exponent) is not bool:
        return NotImplemented
    return x.clone() if exponent else torch.ones_like(x)


def ldexp(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Torch's tracing takes what integers and a half of rank 0 give for f32."""
    whole = not x.dtype.is_floating_point and not x.dtype.is_complex
    return x * torch.pow(2.0, y) if whole and y.dtype in HALVES else NotImplemented


def of_input(then: Any) -> Any:
    """Eager gives a Huber loss the dtype of its input, torch's tracing that to which both operands promote."""

    def decompose(x: torch.Tensor, *rest: Any) -> Any:
        loss = then(x, *rest)
        return loss if loss is NotImplemented or x.device.type != "cpu" else loss.to(x.dtype)

    return decompose


MEANS = (aten.mse_loss_backward.default, aten.smooth_l1_loss_backward.default, aten.huber_loss_backward.default)
"""Gradients of losses, which torch's own decompositions divide by the number of elements while tracing."""


def of_nothing(then: Any) -> Any:
    """The gradient of a loss of no elements has none."""

    def decompose(grad: torch.Tensor, x: torch.Tensor, *rest: Any) -> Any:
        return torch.empty_like(x) if statically_known_true(x.numel() == 0) else then(grad, x, *rest)

    return decompose


def with_nan(then: Any) -> Any:
    """The gradient of a smooth L1 loss where the difference is NaN, which torch's own takes for zero."""

    def decompose(grad: torch.Tensor, x: torch.Tensor, y: torch.Tensor, *rest: Any) -> Any:
        off = x - y
        return torch.where(off.isnan(), off, then(grad, x, y, *rest))

    return decompose


def of_lines(then: Any) -> Any:
    """Torch's own makes a constant of a single line of the grid, which no graph may hold: that grid is ATen's."""

    def decompose(theta: torch.Tensor, size: list[int], *rest: Any) -> Any:
        return NotImplemented if any(statically_known_true(n <= 1) for n in size[2:]) else then(theta, size, *rest)

    return decompose


@functools.cache
def decompositions() -> dict:
    table = dict(core_aten_decompositions())
    for packet in KEPT_WHOLE:
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    table |= splits.DECOMPOSITIONS | MIXED_NORMS
    table |= {aten.take.default: take, aten.select_scatter.default: select_scatter}
    table |= {aten.pow.Tensor_Scalar: pow_scalar, aten.ldexp.Tensor: ldexp}
    for op, how in ((aten.smooth_l1_loss_backward.default, with_nan), (aten.affine_grid_generator.default, of_lines)):
        if op in table:
            table[op] = how(table[op])
    table |= {op: of_nothing(table[op]) for op in MEANS if op in table}
    table |= absent.decompositions(table)
    table |= unheld.decompositions(table)
    table |= strides.decompositions(table)
    return table | {aten.huber_loss.default: of_input(table[aten.huber_loss.default])}
