"""Which tensors kernels read and write."""

from __future__ import annotations

from typing import Any

import torch

from .dims import Unsupported

DTYPES = {
    torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
}  # fmt: skip


def why_not(tensor: torch.Tensor) -> None:
    """Raises Unsupported with the reason why kernels cannot read this tensor."""
    if tensor.layout != torch.strided:
        raise Unsupported(f"a tensor is {tensor.layout}, not strided")
    if tensor.dtype not in DTYPES:
        raise Unsupported(f"kernels do not compute on {str(tensor.dtype).removeprefix('torch.')}")
    if tensor.device.type != "cpu":
        raise Unsupported(f"a tensor is on {tensor.device}")
    if tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
        raise Unsupported("a tensor is quantised, a conjugate or a negative view")
    if tensor.dim() > 16:
        raise Unsupported("a tensor has more than 16 axes")


def served(tensor: Any) -> bool:
    try:
        why_not(tensor)
    except (Unsupported, AttributeError):
        return False
    return True
