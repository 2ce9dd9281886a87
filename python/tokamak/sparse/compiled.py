"""What `tokamak.sparse.compile` returns."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .. import _ext
from . import data, formats, schedules
from .index import Value, leaves
from .model import Argument, Held, Recorded, record
from .places import refuse
from .trace import Part

KEPT = 16
"""How many shapes of inputs a compiled model remembers."""


PROFILES = ("comal", "comal-hbm", "hw")


@dataclasses.dataclass(frozen=True)
class RegionCycles:
    name: str
    cycles: int
    tokens: int


@dataclasses.dataclass(frozen=True)
class Simulation:
    """Cycles of a program: its regions run one after another."""

    cycles: int
    regions: list[RegionCycles]


@dataclasses.dataclass
class Variant:
    """The model for inputs of one set of shapes and layouts."""

    recorded: Recorded
    program: _ext.SparseProgram
    schedule: str  # as it was asked for
    kept: data.Kept
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def inputs(self, args: tuple, kwargs: dict) -> object:
        with self.lock:  # what is kept here and in the program is the same
            return self.program.bind(inputs(self.recorded, self.kept, args, kwargs))

    def schedule_text(self) -> str:
        """The schedule as a file has it."""
        if self.schedule.startswith("schedule"):
            return self.schedule
        return {"auto": "schedule auto { fuse auto }\n", "unfused": "schedule unfused { }\n"}[self.schedule]


class Compiled:
    """A model as a sparse program, called like the model. Results have eager's dense meaning, and no gradients."""

    def __init__(self, model: torch.nn.Module, args: tuple, kwargs: dict, formats: dict[str, str], schedule: str):
        self.model = model
        self.formats = formats
        self.requested = schedule
        self.variants: dict[Any, Variant] = {}
        self.first = self._variant(args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        variant = self._variant(args, kwargs)
        run = variant.program.run(variant.inputs(args, kwargs))
        results = [result(run, item, self.formats) for item in variant.recorded.results]
        return pytree.tree_unflatten(results, variant.recorded.tree)

    @property
    def program(self) -> str:
        """The program, as `.ein` text."""
        return self.first.recorded.text

    @property
    def schedule(self) -> str:
        """The schedule that gives the same regions and orders, as text."""
        return self.first.program.schedule()

    @property
    def regions(self) -> list[str]:
        """The stream graph of each region, as text."""
        return [text for _, text in self.first.program.stages("stream")]

    def explain(self, brief: bool = False) -> str:
        """What was decided and why: rewriting, fused statements, orders, tables, rules, estimates."""
        return self.first.program.explain(brief)

    def estimate(self) -> dict[str, Any]:
        """The same as data: regions with their statements, orders and estimates."""
        return json.loads(self.first.program.explain_json())

    def simulate(self, *args: Any, profile: str = "comal", **kwargs: Any) -> Simulation:
        """What the program takes on these inputs, cycle by cycle, in a profile of `tokamak sim`."""
        variant = self._variant(args, kwargs)
        if profile not in PROFILES:
            raise refuse("T0801", f"there is no profile {profile!r}", f"use {', '.join(PROFILES)}")
        lines = variant.program.simulate(variant.inputs(args, kwargs), profile)
        return Simulation(sum(cycles for _, cycles, _ in lines), [RegionCycles(*line) for line in lines])

    def save(self, folder: str | os.PathLike, *args: Any, **kwargs: Any) -> None:
        """Writes the program as `model.ein`, with its schedule, and weights and these inputs as data beside it.

        `tokamak sparse run FOLDER/model.ein --data FOLDER` runs them, and so do explain, compile and sim.
        """
        variant = self._variant(args, kwargs)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "model.ein"), "w", encoding="utf-8") as file:
            file.write(f"{variant.recorded.text}\n{variant.schedule_text()}")
        variant.program.save_data(variant.inputs(args, kwargs), os.fspath(folder))

    def _variant(self, args: tuple, kwargs: dict) -> Variant:
        check(args, kwargs)
        key = signature(args, kwargs)
        if key not in self.variants:
            if len(self.variants) >= KEPT:
                del self.variants[next(iter(self.variants))]
            recorded = record(self.model, args, kwargs, self.formats)
            schedule = schedules.chosen(self.requested, recorded.statements)
            kept = data.Kept()
            program = _ext.SparseProgram(recorded.text, inputs(recorded, kept, args, kwargs), schedule)
            self.variants[key] = Variant(recorded, program, schedule, kept)
        return self.variants[key]


def check(args: tuple, kwargs: dict) -> None:
    for item in pytree.tree_leaves((args, kwargs)):
        if not isinstance(item, torch.Tensor):
            continue
        if item.requires_grad and torch.is_grad_enabled():
            raise refuse("T0917", "an input wants a gradient, and sparse programs compute forward only",
                         "call it under torch.no_grad(), or detach the input")  # fmt: skip
        if item.device.type == "meta":
            raise refuse("T0914", "an input is on the meta device and has no data", "give real tensors")


def signature(args: tuple, kwargs: dict) -> Any:
    flat, tree = pytree.tree_flatten((args, kwargs))
    parts = []
    for item in flat:
        if isinstance(item, torch.Tensor):
            parts.append((tuple(item.shape), item.dtype, item.layout, formats.of_tensor(item)))
        else:
            parts.append((type(item), item if isinstance(item, (int, float, str, bool, type(None))) else repr(item)))
    return tuple(parts), tree


def inputs(recorded: Recorded, kept: data.Kept, args: tuple, kwargs: dict) -> list[data.Entry]:
    """The inputs as they are now. Weights and sparse arguments mostly stay what they are: those are kept."""
    given = [item for item in pytree.tree_leaves((args, kwargs)) if isinstance(item, torch.Tensor)]
    entries = []
    for base in recorded.inputs:
        tensor = tensor_of(base.source, given)
        stays = not isinstance(base.source, Argument) or tensor.layout != torch.strided
        entries.append(kept.entry(base, tensor) if stays else data.entry(base, tensor))
    return entries


def tensor_of(source: object, given: list[torch.Tensor]) -> torch.Tensor:
    """The data of an input, as they are now."""
    if isinstance(source, Argument):
        return given[source.position]
    if isinstance(source, Held):
        return source.now()
    if isinstance(source, Part):
        return tensor_of(source.of, given).index_select(source.axis, torch.tensor(source.columns))
    assert isinstance(source, torch.Tensor)
    return source


def result(run: _ext.SparseRun, item: Any, wanted: dict[str, str]) -> Any:
    if not isinstance(item, Value):
        return item
    assert item.base is not None
    slots = leaves(item.base.slots)
    stored = torch.empty([slot.size for slot in slots], dtype=torch.float64)
    run.dense(item.base.name, stored)
    order = [slot for axis in item.axes for slot in leaves(axis)]
    positions = {id(slot): n for n, slot in enumerate(slots)}
    moved = stored.permute([positions[id(slot)] for slot in order]) if order else stored
    shape = [size if axis else 1 for size, axis in zip(item.shape, item.axes, strict=True)]
    dense = moved.reshape(shape).expand(item.shape).contiguous().to(item.dtype)
    if not item.base.format or item.base.format == "dense":
        return dense
    count = run.stored(item.base.name)
    at, values = torch.empty((count, len(slots)), dtype=torch.int32), torch.empty(count, dtype=torch.float64)
    run.entries(item.base.name, at, values)
    return data.as_layout(dense, whole(item, at), values.to(item.dtype), item.base.format)


def whole(item: Value, at: torch.Tensor) -> torch.Tensor:
    """Coordinates of the axes as the model has them, from those that a reshape split."""
    columns = []
    position = 0
    for axis in item.axes:
        column = torch.zeros(at.shape[0], dtype=torch.int64)
        for slot in leaves(axis):
            column = column * slot.size + at[:, position]
            position += 1
        columns.append(column)
    return torch.stack(columns, 1)
