"""What becomes of each op of torch's core ATen set: `python -m tokamak.coverage` prints docs/aten.md."""

from __future__ import annotations

import torch

from .decompositions import decompositions
from .lowering import registry

LIBRARY = ("mm", "bmm", "addmm", "convolution")
HEAD = """# ATen's core ops

What `torch.compile(model, backend="tokamak")` does with each op of torch {version}'s core set. *Compiled* ops are fused
with their neighbours; *library* ones run in oneDNN with what follows fused in, or in kernels of our own; *taken apart*
ones become compiled ops; the rest ATen runs as themselves, in place in the graph. Written by
`python -m tokamak.coverage`.

| op | |
|---|---|
"""


def core_ops() -> list[torch._ops.OpOverload]:
    ops = []
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if namespace == "aten":
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            ops += [op] if torch.Tag.core in op.tags else []
    return sorted(ops, key=str)


def kind_of(op: torch._ops.OpOverload) -> str:
    if op._schema.name.startswith("aten::sym_"):
        return "compiled"  # sizes are extents
    if registry.find(op) is not None:
        return "library" if op._schema.name.removeprefix("aten::") in LIBRARY else "compiled"
    return "taken apart" if op in decompositions() else "ATen"


def table() -> str:
    rows = "".join(f"| `{str(op).removeprefix('aten.')}` | {kind_of(op)} |\n" for op in core_ops())
    return HEAD.format(version=torch.__version__.split("+")[0]) + rows


if __name__ == "__main__":
    print(table(), end="")
