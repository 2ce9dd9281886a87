"""Rows of the report: asks child processes about one model after another."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from . import worker
from .backend import Settings
from .backends import BACKENDS
from .model import Model

Progress = Callable[[str], None]
LIMIT = 900  # seconds that one task may take


class Children:
    """Starts tasks in processes forked from one that has imported torch and transformers but computed nothing."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["torch", "transformers", "fusionbench.worker"])

    def ask(self, task: str, environment: dict[str, str], *arguments: Any) -> Any:
        """The task's result; raises `Failed` when it fails, dies or takes too long."""
        ours, theirs = self.context.Pipe()
        child = self.context.Process(target=worker.run, args=(theirs, task, environment, arguments))
        child.start()
        theirs.close()
        try:
            if not ours.poll(LIMIT):
                raise Failed(f"took more than {LIMIT} s")
            status, value = ours.recv()
        except EOFError:
            child.join()
            raise Failed(f"its process {fate(child.exitcode)}") from None
        finally:
            if child.is_alive() and not ours.closed:
                child.join(1)
            if child.is_alive():
                child.kill()
            ours.close()
        if status == "error":
            raise Failed(value)
        return value


class Failed(Exception):
    """A task that gave no result, and why."""


def fate(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"


def rows(models: list[Model], names: list[str], settings: Settings, progress: Progress) -> Iterator[dict[str, Any]]:
    """One row a model, as they are done. What fails is told in the row."""
    children = Children()
    for model in models:
        folder = tempfile.mkdtemp(prefix="fusionbench-")
        row: dict[str, Any] = {"model": model.name, "about": model.about, "backends": {name: {} for name in names}}
        try:
            measure(children, model.name, row, folder, settings, progress)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        yield row


def measure(
    children: Children, model: str, row: dict[str, Any], folder: str, settings: Settings, progress: Progress
) -> None:
    cells = row["backends"]
    environments = {name: environment(name, folder) for name in cells}
    try:
        progress("float64 reference")
        row |= children.ask("reference", {}, model, folder, settings)
    except Failed as why:
        row["error"] = f"eager in float64: {why}"
        return
    for name, cell in cells.items():
        try:
            if name != "eager":
                progress(f"{name}: cold compile")
                cold = children.ask("compile", environments[name], model, name, settings)
                cell |= cold["facts"] | {"compile_cold_s": cold["seconds"]}
            if BACKENDS[name].caches:
                progress(f"{name}: warm compile")
                cell["compile_warm_s"] = children.ask("compile", environments[name], model, name, settings)["seconds"]
            progress(f"{name}: error and memory")
            cell |= children.ask("inspect", environments[name], model, name, folder, settings)
        except Failed as why:
            cell["error_text"] = str(why)
    time_together(children, model, cells, environments, settings, progress)


def time_together(
    children: Children,
    model: str,
    cells: dict[str, dict[str, Any]],
    environments: dict[str, dict[str, str]],
    settings: Settings,
    progress: Progress,
) -> None:
    running = [name for name, cell in cells.items() if "error_text" not in cell]
    progress("latency, interleaved")
    try:
        everything = {key: value for name in running for key, value in environments[name].items()}
        found = children.ask("latency", everything, model, running, settings)
    except Failed as why:
        for name in running:
            cells[name]["error_text"] = f"timing: {why}"
        return
    for name in running:
        if text := found[name].pop("error", None):
            cells[name]["error_text"] = f"timing: {text}"
        cells[name] |= found[name]
    eager = cells.get("eager", {}).get("latency_ms")
    for name in running:
        if eager and name != "eager" and "latency_ms" in cells[name]:
            cells[name]["speedup"] = eager / cells[name]["latency_ms"]


def environment(name: str, folder: str) -> dict[str, str]:
    """A back end's caches in a new folder of their own."""
    cache = os.path.join(folder, name)
    os.makedirs(cache, exist_ok=True)
    return BACKENDS[name].environment(cache)
