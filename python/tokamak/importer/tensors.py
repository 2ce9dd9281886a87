"""Which tensors kernels read and write."""

from __future__ import annotations

from typing import Any

import torch

from .dims import Unsupported

DTYPES = {
    torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
}  # fmt: skip


def device_of(module: torch.fx.GraphModule) -> torch.device:
    """Where the graph's kernels run: on the first GPU that holds a tensor of it, else on the CPU."""
    for node in module.graph.nodes:
        for leaf in leaves(node.meta.get("val")):
            if isinstance(leaf, torch.Tensor) and leaf.device.type == "cuda":
                return leaf.device
    return torch.device("cpu")


def leaves(tree: Any) -> list[Any]:
    return [x for t in tree for x in leaves(t)] if isinstance(tree, (list, tuple)) else [tree]


def plain(tree: Any) -> Any:
    """FX's immutable containers as Python's own."""
    if isinstance(tree, (tuple, list)):
        return type(tree)(map(plain, tree)) if type(tree) is tuple else [plain(t) for t in tree]
    if isinstance(tree, dict):
        return {k: plain(v) for k, v in tree.items()}
    return tree


def why_not(tensor: torch.Tensor, device: torch.device) -> None:
    """Raises Unsupported with the reason why kernels on this device cannot read this tensor."""
    if tensor.layout != torch.strided:
        raise Unsupported(f"a tensor is {tensor.layout}, not strided")
    if tensor.dtype not in DTYPES:
        raise Unsupported(f"kernels do not compute on {str(tensor.dtype).removeprefix('torch.')}")
    if tensor.device != device:
        raise Unsupported(f"a tensor is on {tensor.device}, the kernels of its graph run on {device}")
    if tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
        raise Unsupported("a tensor is quantised, a conjugate or a negative view")
    if tensor.dim() > 16:
        raise Unsupported("a tensor has more than 16 axes")


def served(tensor: Any, device: torch.device) -> bool:
    try:
        why_not(tensor, device)
    except (Unsupported, AttributeError):
        return False
    return True
