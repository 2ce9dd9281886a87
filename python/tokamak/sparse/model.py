"""Runs a model under trace and gathers its program: statements, inputs and where their data come from."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import text
from .index import Base, Statement, Value, leaves
from .places import refuse
from .restrict import restrict
from .trace import Trace, Traced, below_autograd


@dataclasses.dataclass(frozen=True)
class Argument:
    """The n-th tensor among the arguments of a call."""

    position: int


@dataclasses.dataclass(frozen=True)
class Held:
    """A tensor that a module holds: found again at every call, so that changed weights count."""

    module: torch.nn.Module
    name: str

    def now(self) -> torch.Tensor:
        return getattr(self.module, self.name)


@dataclasses.dataclass
class Recorded:
    """A model as a program. `tree` and `results` put the outputs together again."""

    text: str
    statements: list[Statement]
    inputs: list[Base]
    outputs: list[Base]
    results: list[Any]  # a Value each, or what was no tensor
    tree: Any


def argument_names(model: torch.nn.Module, args: tuple, kwargs: dict) -> Any:
    """The names of forward's parameters in the shape of the arguments; tensors inside lists are numbered."""
    try:
        bound = inspect.signature(model.forward).bind(*args, **kwargs)
    except (TypeError, ValueError) as error:
        raise refuse("T0914", f"the model does not take these inputs: {error}", "give what forward takes") from None
    named: list[Any] = []
    keyed: dict[str, Any] = {}
    for name, parameter in bound.signature.parameters.items():
        if name not in bound.arguments:
            continue
        value = bound.arguments[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            named += [_numbered(f"{name}_{i}", item) for i, item in enumerate(value)]
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            keyed |= {key: _numbered(key, item) for key, item in value.items()}
        elif name in kwargs:
            keyed[name] = _numbered(name, value)
        else:
            named.append(_numbered(name, value))
    return tuple(named), {key: keyed[key] for key in kwargs}


def _numbered(name: str, value: Any) -> Any:
    flat, tree = pytree.tree_flatten(value)
    return pytree.tree_unflatten([name] if len(flat) == 1 else [f"{name}_{i}" for i in range(len(flat))], tree)


def held_tensors(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module, dict, str, torch.Tensor]]:
    """Every tensor that a module of the model holds: parameters, buffers and plain attributes."""
    for path, module in model.named_modules(remove_duplicate=True):
        for store in (module._parameters, module._buffers, module.__dict__):
            for name, tensor in list(store.items()):
                if isinstance(tensor, torch.Tensor):
                    yield f"{path}.{name}".lstrip("."), module, store, name, tensor


@contextlib.contextmanager
def swapped(model: torch.nn.Module, trace: Trace) -> Iterator[None]:
    """Traced tensors in the place of all that the model holds."""
    replaced = []
    made: dict[int, Traced] = {}
    try:
        for path, module, store, name, tensor in held_tensors(model):
            if id(tensor) not in made:
                made[id(tensor)] = Traced(trace, trace.input(path, tensor, Held(module, name)), tensor)
            store[name] = made[id(tensor)]
            replaced.append((store, name, tensor))
        yield
    finally:
        for store, name, tensor in replaced:
            store[name] = tensor


def record(model: torch.nn.Module, args: tuple, kwargs: dict, annotated: dict[str, str]) -> Recorded:
    """The program of a model for inputs of these shapes."""
    names, given = pytree.tree_leaves(argument_names(model, args, kwargs)), pytree.tree_flatten((args, kwargs))
    known = [*names, *(path for path, *_ in held_tensors(model)), "output"]
    for name in annotated:
        if name not in known and not name.startswith("output"):
            raise refuse("T0911", f"formats names {name!r}, which is no input and no weight of the model",
                         f"the names are {', '.join(known)}")  # fmt: skip
    trace = Trace(model, annotated)
    flat = []
    position = 0
    for name, item in zip(names, given[0], strict=True):
        if isinstance(item, torch.Tensor):
            flat.append(Traced(trace, trace.input(name, item, Argument(position)), item))
            position += 1
        else:
            flat.append(item)
    inner_args, inner_kwargs = pytree.tree_unflatten(flat, given[1])
    with swapped(model, trace), trace.modules.watched(), below_autograd():
        returned = model(*inner_args, **inner_kwargs)
    return gather(trace, returned)


def gather(trace: Trace, returned: Any) -> Recorded:
    flat, tree = pytree.tree_flatten(returned)
    tensors = [item for item in flat if isinstance(item, Traced)]
    results: list[Any] = []
    outputs: list[Base] = []
    for item in flat:
        if not isinstance(item, Traced):
            results.append(item)
            continue
        name = "output" if len(tensors) == 1 else f"output{len([r for r in results if isinstance(r, Value)])}"
        results.append(output(trace, item.value, name, outputs))
    if not outputs:
        raise refuse("T0910", "the model computes nothing from its inputs", "return a tensor that depends on one")
    statements = text.needed(trace.statements, outputs)
    restrict(statements, outputs)
    header = f"{type(trace.modules.model).__name__}, as tokamak.sparse.compile wrote it."
    written = text.program(statements, outputs, header)
    return Recorded(written, statements, text.inputs_of(statements), outputs, results, tree)


def output(trace: Trace, value: Value, name: str, outputs: list[Base]) -> Value:
    """A result as an output of the program: it is copied where it is an input, or an output already."""
    from .ops.arithmetic import unmasked

    value = unmasked(trace, value)
    wanted = trace.annotated.get(name)
    taken = any(value.base is other for other in outputs)
    ordered = [slot for axis in value.axes for slot in leaves(axis)]
    in_order = value.base is not None and [id(s) for s in ordered] == [id(s) for s in leaves(value.base.slots)]
    if value.base is None or value.base.is_input or taken or (wanted and not in_order):
        vars = value.fresh()
        value = trace.define("copy", value.shape, value.dtype, vars, value.at(vars))
    base = value.base
    assert base is not None
    trace.names.discard(base.name)
    base.name = trace.name(name if name != "output" else "out")
    if wanted:
        base.format, base.shape = wanted, value.shape
    outputs.append(base)
    return value
