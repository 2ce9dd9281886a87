"""The table of lowerings.

A lowering is a function of a Context and the node's own arguments, in which nodes are replaced by what they stand for:

    @lowers(aten.neg.default)
    def neg(c, x):
        return c.b.unary("neg", x)

`c.b` is the segment to write into; `c.dtype` and `c.shape` are those of the node's result. What a lowering cannot serve
it refuses with `Unsupported("why")`, and ATen runs the node.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch

from tokamak.importer.dims import Dim, Unsupported, evaluated, shape_of
from tokamak.importer.segment import Segment, Value
from tokamak.importer.tensors import DTYPES

from .errors import wrong_index

FAMILIES = (
    "pointwise", "formulas", "activations", "fills", "reductions", "scans", "norms", "random", "shapes",
    "indexing", "scattering", "windows", "convolution", "products", "attention",
)  # fmt: skip

__all__ = ["Context", "Extent", "Lowering", "Unsupported", "Value", "dtype_name", "find", "lowers", "table"]


@dataclasses.dataclass(frozen=True)
class Extent:
    """A symbolic integer among a node's arguments."""

    dim: Dim


@dataclasses.dataclass(frozen=True)
class Lowering:
    function: Callable
    free: bool = False  # costs nothing to make again in another segment
    needs_seed: bool = False
    leaves: Callable[[torch.fx.Node], str | None] = lambda node: None  # why ATen is to run this node, if it is


_table: dict[Any, Lowering] = {}


def lowers(*targets: Any, **settings: Any) -> Callable:
    """Enters a lowering of these ops; the settings are those of `Lowering`."""

    def register(function: Callable) -> Callable:
        for target in targets:
            assert target not in _table, f"{target} has two lowerings"
            _table[target] = Lowering(function, **settings)
        return function

    return register


@functools.cache  # a thread that comes while another loads waits for the same imports
def table() -> dict[Any, Lowering]:
    for family in FAMILIES:
        importlib.import_module(f"tokamak.lowering.{family}")
    return _table


def find(target: Any) -> Lowering | None:
    return table().get(target)


def dtype_name(dtype: torch.dtype) -> str:
    """The dtype in docs/ir.md's words."""
    if dtype not in DTYPES:
        raise Unsupported(f"it computes in {str(dtype).removeprefix('torch.')}")
    return DTYPES[dtype]


class Context:
    """What a lowering may look at beside its operands."""

    def __init__(self, segment: Segment, node: torch.fx.Node, fake: Any, importer: Any, level: int):
        self.b, self.node, self.fake, self.importer, self.level = segment, node, fake, importer, level

    @property
    def dtype(self) -> str:
        return dtype_name(self.fake.dtype)

    @property
    def shape(self) -> tuple[Dim, ...]:
        return shape_of(self.fake)

    def type_of(self, fake: torch.Tensor) -> tuple[str, tuple[Dim, ...]]:
        """The dtype and shape of one of several results."""
        return dtype_name(fake.dtype), shape_of(fake)

    @staticmethod
    def shape_of(fake: torch.Tensor) -> tuple[Dim, ...]:
        return shape_of(fake)

    def likely(self, dim: Dim) -> int:
        """What a size probably is. Never a guard."""
        return evaluated(dim, self.importer.hints)

    def scalar(self, value: bool | int | float, dtype: str) -> bool | int | float:
        """A Python number as a tensor of this dtype holds it."""
        if isinstance(value, complex):
            raise Unsupported("a number is complex")
        if dtype in ("f16", "bf16", "f32"):
            exact = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[dtype]
            return torch.tensor(float(value), dtype=torch.float64, device="cpu").to(exact).item()
        return value

    @property
    def stops(self) -> bool:
        """Whether a kernel that meets a wrong index stops by itself, as a GPU's does in eager."""
        return self.importer.device.type == "cuda"

    def require(self, holds: Value, exception: type, message: str) -> None:
        """The call raises unless all of these, bool, hold."""
        flag = self.b.reduce("all", holds, list(range(holds.rank))) if holds.rank else holds
        self.importer.require(flag, self.level, exception, message)

    def require_index(self, index: Value, x: Value, axis: int, negative: bool = False) -> None:
        """The call raises unless every index is below the axis' size, and not negative or at least -size."""
        size = x.shape[axis] if x.rank else 1
        b, n = self.b, self.b.cast(self.b.size(size), index.dtype)
        low = b.unary("neg", n) if negative else 0
        fits = b.mul(b.binary("ge", index, low), b.binary("lt", index, n))
        self.require(fits, *wrong_index(self.node, x.rank, axis, size))

    def fake_args(self) -> list[Any]:
        """The node's arguments with fake tensors for nodes, for torch's own rules of promotion."""
        return list(torch.fx.map_arg(self.node.args, lambda n: n.meta["val"]))

    def seed(self) -> Value:
        return self.importer.value_in(self.importer.seed_entry(), self.level)

    def next_offset(self) -> int:
        """Numbers of random ops that do not collide: each draws from its own stream."""
        self.importer.random_ops += 1
        return self.importer.random_ops
