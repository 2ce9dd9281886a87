"""What runs in a child process: one task about one model, a dictionary back.

Every task starts in a process of its own, so that a crash costs one cell of the report, compilations are cold, and
memory is that of one back end.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .backend import Backend, Settings
from .backends import BACKENDS
from .memory import call_memory
from .model import in_double, loss_of, output_of
from .models import named

REFERENCE = "reference.pt"


class Job:
    """A model under one back end: `call()` runs it once, or one training step, and gives what to compare."""

    def __init__(self, model: str, backend: Backend, settings: Settings, double: bool = False):
        self.module, self.arguments = named(model).make(settings.size, settings.train)
        if double:
            self.module, self.arguments = in_double(self.module, self.arguments)
        self.backend, self.settings = backend, settings
        self.function: Callable[..., Any] = self.module

    def compile(self) -> None:
        self.function = self.backend.compile(self.module)

    def call(self, function: Callable[..., Any] | None = None) -> list[torch.Tensor]:
        function = self.function if function is None else function
        if not self.settings.train:
            with torch.no_grad():
                return [output_of(function(**self.arguments))]
        self.module.zero_grad(set_to_none=True)
        loss = loss_of(function(**self.arguments))
        loss.backward()
        return [loss.detach(), *(p.grad for p in self.module.parameters() if p.grad is not None)]


def start(settings: Settings) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(settings.threads)
    with contextlib.suppress(ImportError):
        import transformers

        transformers.logging.set_verbosity_error()


def reference(model: str, folder: str, settings: Settings) -> dict[str, Any]:
    """Runs the model in float64 and keeps the result for the others."""
    job = Job(model, Backend(settings), settings, double=True)
    torch.save([t.clone() for t in job.call()], os.path.join(folder, REFERENCE))
    return {"parameters": sum(p.numel() for p in job.module.parameters())}


def compile_seconds(model: str, name: str, settings: Settings) -> dict[str, Any]:
    """From a module to the first result, less the time of a second call."""
    job = Job(model, BACKENDS[name](settings), settings)
    begin = time.perf_counter()
    job.compile()
    job.call()
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    job.call()
    seconds = max(first - (time.perf_counter() - begin), 0.0)
    return {"seconds": seconds, "facts": job.backend.facts(job.call)}


def inspect(model: str, name: str, folder: str, settings: Settings) -> dict[str, Any]:
    """What one back end makes of a model: kernels, fusions, error, memory."""
    job = Job(model, BACKENDS[name](settings), settings)
    out: dict[str, Any] = {}

    def prepare() -> None:
        job.compile()
        found = job.call()
        out.update(error_of(found, torch.load(os.path.join(folder, REFERENCE))))
        out.update(job.backend.facts(job.call))
        job.call()

    return call_memory(prepare, job.call, job.backend.trim) | out


def error_of(found: list[torch.Tensor], exact: list[torch.Tensor]) -> dict[str, float]:
    """The largest difference from float64, as it is and as a part of the largest value of its tensor."""
    if len(found) != len(exact) or any(a.shape != b.shape for a, b in zip(found, exact, strict=True)):
        raise AssertionError("the results have other shapes than eager's")
    worst = relative = 0.0
    for a, b in zip(found, exact, strict=True):
        if a.isfinite().sum() != b.isfinite().sum():
            return {"error": float("inf"), "error_relative": float("inf")}
        error = (a.double() - b).abs().nan_to_num().max().item() if a.numel() else 0.0
        scale = b.abs().nan_to_num().max().item() if b.numel() else 0.0
        worst, relative = max(worst, error), max(relative, error / scale if scale else error)
    return {"error": worst, "error_relative": relative}


def latency(model: str, names: list[str], settings: Settings) -> dict[str, Any]:
    """Milliseconds a call, all back ends in turn, so that the machine's moods meet all alike."""
    jobs = {name: Job(model, BACKENDS[name](settings), settings) for name in names}
    out: dict[str, Any] = {name: {} for name in names}
    for name, job in list(jobs.items()):
        try:
            job.compile()
            job.call()
            job.call()
        except Exception as error:
            out[name]["error"] = brief(error)
            del jobs[name]
    times: dict[str, list[float]] = {name: [] for name in jobs}
    begin = time.perf_counter()
    while jobs and (len(next(iter(times.values()))) < 5 or time.perf_counter() - begin < settings.seconds):
        for name, job in jobs.items():
            at = time.perf_counter()
            job.call()
            times[name].append((time.perf_counter() - at) * 1e3)
    for name, seen in times.items():
        out[name] |= {"latency_ms": statistics.median(seen), "latency_min_ms": min(seen), "calls_timed": len(seen)}
    blame(jobs, out)
    return out


def blame(jobs: dict[str, Job], out: dict[str, Any]) -> None:
    """Adds to every back end slower than eager the step that costs most."""
    eager = out.get("eager", {}).get("latency_ms")
    for name, job in jobs.items():
        if eager is None or out[name]["latency_ms"] <= eager or name == "eager":
            continue
        try:
            out[name]["slowest"] = job.backend.slowest(job.module, job.call)
        except Exception as error:
            out[name]["slowest"] = {"step": "unknown", "us": 0.0, "why": brief(error)}


def brief(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


TASKS = {"reference": reference, "compile": compile_seconds, "inspect": inspect, "latency": latency}


def run(pipe: Any, task: str, environment: dict[str, str], arguments: tuple[Any, ...]) -> None:
    """The child's main function: sends ("ok", result) or ("error", text)."""
    os.environ.update(environment)
    try:
        start(arguments[-1])
        pipe.send(("ok", TASKS[task](*arguments)))
    except Exception as error:
        pipe.send(("error", brief(error)))
