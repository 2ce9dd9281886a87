"""The program `tokamak` that the wheel installs is the command line, and takes what the warnings tell users to run."""

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import tokamak
from tokamak.compiled import save_repro

PROGRAM = """graph @add(%a: f32[N, 2], %b: f32[N, 2]) {
  %0 = add %a, %b : f32[N, 2]
  return %0
}
"""


def run(*words: str) -> subprocess.CompletedProcess:
    search = os.pathsep.join([str(Path(tokamak.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": search}
    return subprocess.run(
        [sys.executable, "-m", "tokamak", *words], capture_output=True, text=True, check=False, env=environment
    )


def test_the_script_leads_to_the_command_line() -> None:
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module, function = settings["project"]["scripts"]["tokamak"].split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_a_saved_region_runs_again() -> None:
    done = run("repro", save_repro(PROGRAM, {"N": 64}))
    assert done.returncode == 0, done.stderr
    assert "agrees with the reference" in done.stdout and "f32[64, 2]" in done.stdout


def test_its_exit_codes_are_the_programs() -> None:
    assert run("--version").stdout == f"tokamak {tokamak.__version__}\n"
    wrong = run("repor")
    assert wrong.returncode == 2 and "T0801" in wrong.stderr
