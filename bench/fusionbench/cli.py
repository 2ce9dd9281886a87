"""The command line."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import time
from typing import Any

from . import VERSION

TEXT = """FusionBench: models before and after fusion, under several back ends, in one report.

A model is built from a configuration with random weights: nothing is downloaded. Each back end compiles it in a
process of its own, first with empty caches and then with those it left. Then all run in turn in one process, and the
median of each is its latency. Results are compared with a run in float64, memory is what the operating system saw.
"""

EXAMPLES = """examples:
  fusionbench list                                      models and back ends
  fusionbench run --models bert                         one model, a table on the terminal
  fusionbench run --models 'vit|swin' --html out.html   two models, and a report to look at
  fusionbench run --backends eager,tokamak --freeze     weights as constants
  fusionbench run --train --json out.json               a training step: forward and backward
  fusionbench run --size full --seconds 10              sizes as people use them, longer timing
  fusionbench report out.json --html out.html           a report from earlier figures

Ctrl-C ends the run and keeps the rows so far. A model that fails is a row with its error. The exit code is 0 if every
cell was measured, 1 if some were not, 130 after Ctrl-C. docs/fusionbench.md describes the JSON.
"""


def parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser("fusionbench", description=TEXT, epilog=EXAMPLES, formatter_class=raw)
    top.add_argument("--version", action="version", version=f"fusionbench {VERSION}")
    sub = top.add_subparsers(dest="command", required=True, metavar="run | report | list")
    run = sub.add_parser("run", help="measure and report", description=TEXT, epilog=EXAMPLES, formatter_class=raw)
    run.add_argument("--models", default="", metavar="REGEX", help="models whose name this finds (all)")
    run.add_argument("--backends", default="eager,inductor,tokamak", metavar="A,B", help="(%(default)s)")
    run.add_argument("--size", default="small", choices=("tiny", "small", "full"), help="of the models (%(default)s)")
    run.add_argument("--freeze", action="store_true", help="weights are constants, where a back end can use that")
    run.add_argument("--train", action="store_true", help="a training step instead of inference")
    run.add_argument("--seconds", type=positive, default=2.0, help="of timing a model (%(default)s)")
    run.add_argument("--threads", type=int, default=0, help="of a process (all cores)")
    outputs(run)
    report = sub.add_parser("report", help="draw figures measured earlier")
    report.add_argument("file", help="what run --json wrote")
    outputs(report)
    sub.add_parser("list", help="models and back ends")
    return top


def outputs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", metavar="FILE", help="write all figures here")
    command.add_argument("--html", metavar="FILE", help="write a report here, one file that needs nothing else")


def positive(text: str) -> float:
    if (value := float(text)) <= 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return value


class Display:
    """Progress on a terminal: one line that changes; elsewhere nothing but the rows."""

    def __init__(self, total: int):
        self.live, self.total, self.done, self.begin, self.model = sys.stderr.isatty(), total, 0, time.time(), ""

    def step(self, text: str) -> None:
        if self.live:
            line = f"[{self.done + 1}/{self.total}, {time.time() - self.begin:.0f} s] {self.model} {text}"
            sys.stderr.write(f"\r\033[K{line[:110]}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self.live:
            sys.stderr.write("\r\033[K")


def list_all() -> int:
    from .backends import BACKENDS
    from .models import MODELS

    print("models:")
    for model in MODELS:
        print(f"  {model.name:<18} {model.about}")
    print("back ends:")
    for backend in BACKENDS.values():
        print(f"  {backend.name:<18} {backend.about}")
    return 0


def run(options: argparse.Namespace) -> int:
    from .backend import Settings
    from .backends import BACKENDS
    from .measure import rows
    from .models import MODELS, matching

    names = list(dict.fromkeys(n for n in options.backends.split(",") if n))
    if unknown := [n for n in names if n not in BACKENDS] or ["" for _ in [0] if not names]:
        return complain(f"there is no back end {unknown[0]!r}; there are {', '.join(BACKENDS)}")
    try:
        models = matching(options.models)
    except re.error as error:
        return complain(f"--models {options.models!r} is no regular expression: {error}")
    if not models:
        return complain(f"no model matches {options.models!r}; there are {', '.join(m.name for m in MODELS)}")
    for path in filter(None, (options.json, options.html)):
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            return complain(f"the folder of {path} does not exist")
    threads = options.threads or len(os.sched_getaffinity(0))
    settings = Settings(options.size, options.train, options.freeze, threads, options.seconds)
    document = header(settings, names)
    display = Display(len(models))
    found = rows(models, names, settings, display.step)
    try:
        for model in models:
            display.model = model.name
            row = next(found)
            display.clear()
            display.done += 1
            document["rows"].append(row)
            say(row, first=display.done == 1)
    except KeyboardInterrupt:
        display.clear()
        document["interrupted"] = True
    finally:
        found.close()
    return finish(document, options)


def header(settings: Any, names: list[str]) -> dict[str, Any]:
    import dataclasses

    import torch

    return {
        "schema": 1,
        "version": VERSION,
        "interrupted": False,
        "machine": {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
                    "torch": torch.__version__},
        "settings": dataclasses.asdict(settings) | {"backends": names},
        "rows": [],
    }  # fmt: skip


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def say(row: dict[str, Any], first: bool) -> None:
    from .table import heading, lines

    if first:
        print(heading(), flush=True)
    print("\n".join(lines(row)), flush=True)


def finish(document: dict[str, Any], options: argparse.Namespace) -> int:
    from .report import html
    from .summary import summary
    from .table import closing

    names = document["settings"]["backends"]
    document["summary"] = summary(document["rows"], names)
    print("\n".join(closing(document)))
    try:
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=1)
            print(f"figures: {options.json}")
        if options.html:
            with open(options.html, "w", encoding="utf-8") as file:
                file.write(html(document))
            print(f"report: {options.html}")
    except OSError as error:
        return complain(str(error))
    if document["interrupted"]:
        return 130
    failed = [r for r in document["rows"] if "error" in r or any("error_text" in c for c in r["backends"].values())]
    return 1 if failed else 0


def report(options: argparse.Namespace) -> int:
    try:
        with open(options.file, encoding="utf-8") as file:
            document = json.load(file)
        if document.get("schema") != 1:
            return complain(f"{options.file} is not of schema 1")
    except (OSError, ValueError, AttributeError) as error:
        return complain(f"{options.file} cannot be read: {error}")
    for i, row in enumerate(document["rows"]):
        say(row, first=i == 0)
    return finish(document, options)


def complain(text: str) -> int:
    print(f"fusionbench: {text}", file=sys.stderr)
    return 2


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return {"run": run, "report": report, "list": lambda _: list_all()}[options.command](options)
