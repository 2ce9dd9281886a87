"""Records what a model does as statements in index notation.

The model runs once on `Traced` tensors, which have shape and dtype but no data. Every op arrives whole (linear,
softmax, einsum: torch is entered below autograd, where it has not taken them apart yet) and `ops` writes it down; an op
that nothing there knows is taken apart by torch's own decompositions. Tensors that the model makes itself, out of
nothing traced, are computed for real and become data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import formats, ops
from .index import Axes, Base, Dim, Expr, Index, Statement, Uneven, Value, dims, leaves, match, uses
from .places import Modules, refuse

DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.bool: "f32",
    torch.uint8: "f64",
    torch.int8: "f64",
    torch.int16: "f64",
    torch.int32: "f64",
    torch.int64: "f64",
}
RESERVED = {"dim", "input", "output", "temp", "schedule", "where", "stored", "in", "inf"}


@dataclasses.dataclass(frozen=True)
class Part:
    """Data that are a slice of other data."""

    of: object
    axis: int
    columns: list[int]


class Traced(torch.Tensor):
    """A tensor of the model under trace. `value` is what it stands for, `origin` the tensor it was made from."""

    value: Value
    trace: Trace
    origin: torch.Tensor | None
    shared: bool

    @staticmethod
    def __new__(cls, trace: Trace, value: Value, origin: torch.Tensor | None = None):
        self = torch.Tensor._make_wrapper_subclass(cls, value.shape, dtype=value.dtype, device="cpu")
        self.trace, self.value, self.origin, self.shared = trace, value, origin, origin is not None
        return self

    def __init__(self, *_):
        pass

    def __repr__(self, **_):
        return f"Traced({tuple(self.shape)}, {self.dtype})"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        special = ops.ATTRIBUTES.get(getattr(func, "__self__", None) or func)
        if special is not None:
            return special(args[0])
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        flat = pytree.arg_tree_leaves(*args, **(kwargs or {}))
        trace = next(item.trace for item in flat if isinstance(item, Traced))
        return trace.call(func, args, kwargs or {})


@functools.cache
def decompositions() -> dict[Any, Callable]:
    from torch._decomp import core_aten_decompositions

    return dict(core_aten_decompositions())


class Trace:
    """The statements of one model, as they are recorded."""

    def __init__(self, model: torch.nn.Module, annotated: dict[str, str]):
        self.modules = Modules(model)
        self.annotated = annotated
        self.statements: list[Statement] = []
        self.names: set[str] = set(RESERVED)
        self.constants: dict[int, tuple[torch.Tensor, Value]] = {}
        self.parts: dict[tuple, Value] = {}
        self.held: list[torch.Tensor] = []  # constants that ops made: their ids stay theirs
        self.op = ""  # what the model calls
        self.now = ""  # what that is made of

    def refuse(self, message: str, hint: str, code: str = "T0910") -> Exception:
        return refuse(code, message, hint, self.modules.place(self.op))

    def name(self, wanted: str) -> str:
        stem = re.sub(r"\W", "_", wanted).strip("_") or "t"
        stem = stem if stem[0].isalpha() else f"t{stem}"
        name, n = stem, 1
        while name in self.names:
            n += 1
            name = f"{stem}_{n}"
        self.names.add(name)
        return name

    def input(self, name: str, tensor: torch.Tensor, source: object) -> Value:
        """An input of the program: an argument, a parameter, a buffer or a constant."""
        if tensor.dtype not in DTYPES:
            raise refuse(
                "T0912", f"{name} is a tensor of {tensor.dtype}", "give real numbers; sparse programs know no others"
            )
        shape = tuple(tensor.shape)
        slots = [Index(Dim(size)) for size in shape if size != 1]
        kept = iter(slots)
        axes = [[next(kept)] if size != 1 else [] for size in shape]
        given = self.annotated.get(name)
        base = Base(self.name(name), slots, DTYPES[tensor.dtype], given or formats.of_tensor(tensor), shape, source)
        value = Value(shape, tensor.dtype, axes, base)
        if base.format:
            levels = formats.parse(base.format, len(shape), name)
            if not formats.is_dense(levels):
                value.pattern = value
        return value

    def constant(self, tensor: torch.Tensor) -> Value:
        """A tensor that the model made or holds without having registered it."""
        if tensor.numel() == 1 and tensor.layout == torch.strided:
            return Value(tuple(tensor.shape), tensor.dtype, [[] for _ in tensor.shape], None, float(tensor.reshape(())))
        known = self.constants.get(id(tensor))
        if known is None:
            held = tensor.detach()
            known = self.constants[id(tensor)] = (tensor, self.input("constant", held, held))
        return known[1]

    def part_of(self, x: Value, axis: int, columns: list[int]) -> Value:
        """A slice of a dense input, as an input of its own."""
        assert x.base is not None
        key = (id(x.base), axis, tuple(columns))
        if key not in self.parts:
            shape = (*x.shape[:axis], len(columns), *x.shape[axis + 1 :])
            like = torch.empty(shape, dtype=x.dtype, device="meta")
            name = f"{x.base.name}_{columns[0]}" + (f"_{columns[-1] + 1}" if len(columns) > 1 else "")
            self.parts[key] = self.input(name, like, Part(x.base.source, axis, columns))
        return self.parts[key]

    def define(
        self, hint: str, shape: tuple[int, ...], dtype: torch.dtype, axes: Axes, expr: Expr, **more: Any
    ) -> Value:
        """A statement: `axes` are the variables of each axis of the result. Those that `expr` does not use repeat."""
        used = uses(expr)
        kept = [[var for var in leaves(axis) if id(var) in used] for axis in axes]
        for axis, all_of_it in zip(kept, axes, strict=True):
            if axis and len(axis) != len(leaves(all_of_it)):
                raise self.refuse("a part of an axis repeats", "expand the tensor before it is reshaped", "T0916")
        vars = [var for axis in kept for var in axis]
        slots = {id(var): Index(var.dim) for var in vars}
        inside = self.modules.current()
        path = "_".join(filter(None, [*inside.split(".")[-2:], hint]))
        base = Base(self.name(path), [slots[id(v)] for v in vars], DTYPES.get(dtype, "f32"), layer=self.modules.layer())
        self.statements.append(Statement(base, vars, expr))
        return Value(tuple(shape), dtype, [[slots[id(v)] for v in axis] for axis in kept], base, **more)

    def aligned(self, values: list[Value], shape: tuple[int, ...]) -> tuple[Axes, list[Expr]]:
        """Variables for each axis of `shape`, and each value at them, broadcast as torch does."""
        columns: list[list[list[Index]]] = []
        for axis in range(len(shape)):
            own = [v.axes[axis - len(shape) + len(v.axes)] for v in values if axis >= len(shape) - len(v.axes)]
            columns.append([slots for slots in own if slots])
        for column in columns:
            for other in column[1:]:
                self.match(dims(column[0]), dims(other))
        vars: Axes = [[Index(leaf.dim) for leaf in leaves(column[0])] if column else [] for column in columns]
        return vars, [v.at(vars[len(shape) - len(v.axes) :]) for v in values]

    def match(self, left: list[Dim], right: list[Dim]) -> None:
        try:
            match(left, right)
        except Uneven:
            sizes = [[d.size for d in side] for side in (left, right)]
            raise self.refuse(
                f"axes split as {sizes[0]} meet axes split as {sizes[1]}, and neither divides the other",
                "index notation needs axes that split evenly: reshape so that one size divides the other",
                "T0916",
            ) from None

    def value_of(self, item: Any) -> Any:
        if isinstance(item, Traced):
            return item.value
        return self.constant(item) if isinstance(item, torch.Tensor) else item

    def call(self, func: Any, args: tuple, kwargs: dict) -> Any:
        name = func.overloadpacket.__name__ if hasattr(func, "overloadpacket") else str(func)
        outer, self.op = self.op, self.op or name.rstrip("_")
        try:
            return self.dispatch(func, name, args, kwargs)
        finally:
            self.op = outer

    def functional(self, name: str, *args: Any) -> Traced:
        """An op of `tokamak.sparse`, which torch does not know."""
        outer, self.op, self.now = self.op, name, name
        try:
            return Traced(self, ops.HANDLERS[name].write(self, None, *map(self.value_of, args)))
        finally:
            self.op = outer

    def dispatch(self, func: Any, name: str, args: tuple, kwargs: dict) -> Any:
        in_place = name.endswith("_") and not name.endswith("__")
        self.now = name.rstrip("_") if in_place else name
        handler = ops.HANDLERS.get(self.now)
        if handler is None:
            return self.take_apart(func, args, kwargs)
        given = pytree.tree_map(self.value_of, (args, kwargs))
        shapes = None if handler.no_meta else self.shapes(func, args, kwargs)
        result = handler.write(self, shapes, *given[0], **given[1])
        if result is NotImplemented:
            return self.take_apart(func, args, kwargs)
        if in_place:
            return self.change(args[0], result)
        view = handler.view and isinstance(args[0], Traced)
        if view:
            args[0].shared = True
        return pytree.tree_map_only(Value, lambda v: self.traced(v, view), result)

    def traced(self, value: Value, shared: bool) -> Traced:
        out = Traced(self, value)
        out.shared = shared
        return out

    def change(self, target: Any, value: Value) -> Traced:
        """An op in place: the tensor stands for something else from now on."""
        if not isinstance(target, Traced) or target.shared:
            what = "an input, a parameter or a view" if isinstance(target, Traced) else "a tensor of its own"
            raise self.refuse(f"the model changes {what} in place", "use the op that returns a new tensor", "T0913")
        if tuple(target.shape) != value.shape:
            raise self.refuse("an op in place changes a shape", "use the op that returns a new tensor", "T0913")
        target.value = value
        return target

    def shapes(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """What torch says the results look like; its own complaint where the operands do not fit."""

        def meta(item: Any) -> Any:
            if not isinstance(item, torch.Tensor):
                return item
            return (
                torch.empty(item.shape, dtype=item.dtype, device="meta")
                if item.dim() or isinstance(item, Traced)
                else item
            )

        kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "layout", "pin_memory")}
        try:
            return func(*pytree.tree_map(meta, args), **pytree.tree_map(meta, kwargs))
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            first = str(error).split("\n")[0]
            raise self.refuse(first, "the operands do not fit: torch refuses them too", "T0914") from None

    def take_apart(self, func: Any, args: tuple, kwargs: dict) -> Any:
        rule = decompositions().get(func)
        if rule is not None:
            return rule(*args, **kwargs)
        with contextlib.suppress(AttributeError):
            if func._can_decompose():
                return func.decompose(*args, **kwargs)
        raise self.refuse(f"a sparse program has no {self.op}", ops.remedy(self.op))


@contextlib.contextmanager
def below_autograd() -> Iterator[None]:
    with torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
        yield
