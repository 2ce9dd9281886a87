"""Memory-bound functions over the ranges that fusion compilers are compared on: function, tensors, bytes.

A case is a function of tensors; `bytes` are those it cannot avoid: inputs read once, results written once. Cases with
`backward` are measured with their gradients, whose bytes are counted too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
NAMES = {F32: "f32", F16: "f16", BF16: "bf16"}


@dataclasses.dataclass
class Case:
    name: str
    function: Callable
    make: Callable[[], tuple]  # the arguments, on the current device
    bytes: int
    backward: bool = False
    exact: bool = True  # results can be held against float64: no random numbers


def width(dtype: torch.dtype) -> int:
    return dtype.itemsize


def reductions() -> Iterator[Case]:
    """Sums over the inner and the outer axis, from a few long rows to many short ones."""
    shapes = [(2, 1 << 24), (64, 1 << 20), (1 << 10, 1 << 14), (1 << 14, 1 << 10), (1 << 18, 64), (1 << 24, 2)]
    for rows, columns in shapes:
        for dtype in (F32, BF16):
            size = rows * columns * width(dtype)
            make = tensors((rows, columns), dtype=dtype)
            yield Case(f"sum_inner/{NAMES[dtype]}/{rows}x{columns}", lambda x: x.sum(1), make, size)
            yield Case(f"sum_outer/{NAMES[dtype]}/{rows}x{columns}", lambda x: x.sum(0), make, size)
    yield Case("max_inner/f16/8191x4097", lambda x: x.amax(1), tensors((8191, 4097), dtype=F16), 8191 * 4097 * 2)
    yield Case("mean_outer/f16/8193x4095", lambda x: x.mean(0), tensors((8193, 4095), dtype=F16), 8193 * 4095 * 2)


def norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], w, b)


def layer_norms() -> Iterator[Case]:
    shapes = [
        (2, 16384, BF16), (1024, 16384, F16), (16384, 4096, F32), (16383, 4097, F16), (16385, 1023, BF16),
        (131072, 512, BF16), (1 << 20, 128, F16), (1 << 18, 129, F32),
    ]  # fmt: skip
    for rows, columns, dtype in shapes:
        size = rows * columns * width(dtype)
        make = tensors((rows, columns), (columns,), (columns,), dtype=dtype)
        yield Case(f"layer_norm/{NAMES[dtype]}/{rows}x{columns}", norm, make, 2 * size)
    for rows, columns, dtype in shapes[1:6]:
        size = rows * columns * width(dtype)
        make = tensors((rows, columns), (columns,), (columns,), dtype=dtype)
        yield Case(f"layer_norm_backward/{NAMES[dtype]}/{rows}x{columns}", norm, make, 5 * size, backward=True)


def channel_norms() -> Iterator[Case]:
    def instance(x, w, b):
        return F.instance_norm(x, None, None, w, b)

    def batch(x, w, b):
        return F.relu(F.batch_norm(x, None, None, w, b, True))

    def group(x, w, b):
        return F.silu(F.group_norm(x, 32, w, b))

    def evonorm(x, v, w, b):  # EvoNorm-S0
        spread = torch.sqrt(x.unflatten(1, (32, -1)).var((2, 3, 4), keepdim=True) + 1e-5)
        spread = spread.expand(-1, -1, x.shape[1] // 32, x.shape[2], x.shape[3]).flatten(1, 2)
        return x * torch.sigmoid(v[:, None, None] * x) / spread * w[:, None, None] + b[:, None, None]

    volume = (8, 64, 32, 32, 32)
    size = 8 * 64 * 32**3 * 2
    for backward in (False, True):
        tail, factor = ("_backward", 5) if backward else ("", 2)
        make = tensors(volume, (64,), (64,), dtype=BF16, channels_last=True)
        yield Case(f"instance_norm{tail}/bf16/channels_last_3d", instance, make, factor * size, backward)
        shape = (64, 256, 28, 28)
        bytes_ = 64 * 256 * 28 * 28 * 2
        make = tensors(shape, (256,), (256,), dtype=BF16, channels_last=True)
        yield Case(f"batch_norm_relu{tail}/bf16/64x256x28x28_nhwc", batch, make, (factor + 1) * bytes_, backward)
        make = tensors(shape, (256,), (256,), dtype=F32)
        yield Case(f"batch_norm_relu{tail}/f32/64x256x28x28", batch, make, (factor + 1) * 2 * bytes_, backward)
        make = tensors((16, 320, 64, 64), (320,), (320,), dtype=F16)
        yield Case(f"group_norm_silu{tail}/f16/16x320x64x64", group, make, factor * 16 * 320 * 4096 * 2, backward)
        make = tensors((16, 256, 56, 56), (256,), (256,), (256,), dtype=F32)
        yield Case(f"evonorm{tail}/f32/16x256x56x56", evonorm, make, factor * 16 * 256 * 56 * 56 * 4, backward)


def transformer_pieces() -> Iterator[Case]:
    def residual(x, bias, r, w, b):
        return F.layer_norm(F.dropout(x + bias, 0.1) + r, x.shape[-1:], w, b)

    def attention(s, m):
        return F.dropout(torch.softmax(s * 0.125 + m, -1), 0.1)

    def masked(s, m):
        return torch.softmax(s * 0.125 + m, -1)

    def gated(a, b):
        return F.silu(a) * b

    for rows, columns, dtype in [(8192, 1024, F16), (16384, 4096, BF16), (8192, 768, F32)]:
        size = rows * columns * width(dtype)
        make = tensors((rows, columns), (columns,), (rows, columns), (columns,), (columns,), dtype=dtype)
        yield Case(f"bias_dropout_residual_norm/{NAMES[dtype]}/{rows}x{columns}", residual, make, 3 * size, exact=False)
        yield Case(f"bias_dropout_residual_norm_backward/{NAMES[dtype]}/{rows}x{columns}", residual, make, 7 * size,
                   backward=True, exact=False)  # fmt: skip
    scores, mask = (16, 16, 512, 512), (16, 1, 1, 512)
    size = 16 * 16 * 512 * 512 * 2
    yield Case(
        "softmax_dropout/bf16/16x16x512x512", attention, tensors(scores, mask, dtype=BF16), 2 * size, exact=False
    )
    yield Case("mask_softmax_backward/bf16/16x16x512x512", masked, tensors(scores, mask, dtype=BF16), 5 * size, True)
    yield Case("mask_softmax/f16/8x16x1023x1023", masked, tensors((8, 16, 1023, 1023), (8, 1, 1, 1023), dtype=F16),
               2 * 8 * 16 * 1023 * 1023 * 2)  # fmt: skip
    yield Case("swiglu_backward/bf16/8192x11008", gated, tensors((8192, 11008), (8192, 11008), dtype=BF16),
               8 * 8192 * 11008 * 2, True)  # fmt: skip
    for dtype in (F32, BF16):
        size = 4096 * 50257 * width(dtype)
        for backward in (False, True):
            tail = "_backward" if backward else ""
            yield Case(f"cross_entropy{tail}/{NAMES[dtype]}/4096x50257", F.cross_entropy, classes(4096, 50257, dtype),
                       (3 if backward else 1) * size, backward)  # fmt: skip


def tensors(*shapes: tuple[int, ...], dtype: torch.dtype, channels_last: bool = False) -> Callable[[], tuple]:
    def make() -> tuple:
        out = [torch.randn(shape, device="cuda", dtype=dtype) for shape in shapes]
        if channels_last:
            layout = torch.channels_last_3d if out[0].dim() == 5 else torch.channels_last
            out[0] = out[0].contiguous(memory_format=layout)
        return tuple(out)

    return make


def classes(rows: int, count: int, dtype: torch.dtype) -> Callable[[], tuple]:
    return lambda: (
        torch.randn(rows, count, device="cuda", dtype=dtype),
        torch.randint(0, count, (rows,), device="cuda"),
    )


def all_cases() -> list[Case]:
    families: list[Any] = [reductions, layer_norms, channel_norms, transformer_pieces]
    return [case for family in families for case in family()]
