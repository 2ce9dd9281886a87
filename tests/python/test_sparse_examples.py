"""The models of examples/sparse: equal to eager at every fusion level, each with an .ein of its name beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tokamak
import torch
from tokamak import sparse

FOLDER = Path(__file__).parents[2] / "examples" / "sparse"
sys.path.insert(0, str(FOLDER))

from models import MODELS  # noqa: E402


def dense(value: torch.Tensor) -> torch.Tensor:
    return value.to_dense() if value.layout != torch.strided else value


@pytest.mark.parametrize("schedule", ["unfused", "layers", "full", "auto"])
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, schedule: str) -> None:
    torch.manual_seed(1)
    example = MODELS[name]()
    expected = example.eager()
    fast = sparse.compile(example.model, *example.inputs, formats=example.formats, schedule=schedule)
    got = fast(*example.inputs)
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for ours, eager in pairs:
        torch.testing.assert_close(dense(ours), dense(eager), rtol=1e-4, atol=1e-5)
    if "output" in example.formats:
        assert got.layout != torch.strided
    count = len(fast.program.split("\n\n")[1].strip().splitlines())
    if schedule == "unfused":
        assert len(fast.regions) <= count
    if schedule == "full":
        assert len(fast.regions) <= (count + 1) // 2
    assert (FOLDER / f"{name}.ein").exists()


@pytest.mark.parametrize("order", ["inner", "inner_t", "rows", "columns", "outer", "outer_t"])
def test_products_in_all_orders(order: str) -> None:
    torch.manual_seed(1)
    example = MODELS["spmm_orders"]()
    fast = sparse.compile(example.model, *example.inputs, formats=example.formats, schedule=example.schedules[order])
    torch.testing.assert_close(dense(fast(*example.inputs)), example.eager())
    wanted = example.schedules[order].split("order ")[1].split(" }")[0]
    assert fast.estimate()["regions"][0]["order"] == wanted.split(", ")


def test_attention_computes_scores_where_the_mask_stores_alone() -> None:
    example = MODELS["gpt3"]()
    program = sparse.compile(example.model, *example.inputs, formats=example.formats).program
    scores = next(line for line in program.splitlines() if line.startswith("attention_scores"))
    assert scores.endswith("where M[j, k]")


@pytest.mark.parametrize("name", ["gcn", "gpt3", "mttkrp"])
def test_saved_programs_run_from_the_command_line(name: str, tmp_path: Path) -> None:
    tool = Path(tokamak.__file__).parents[2] / "bin" / "tokamak"
    if not tool.exists():
        pytest.skip("the command line is not built here")
    torch.manual_seed(2)
    example = MODELS[name]()
    fast = sparse.compile(example.model, *example.inputs, formats=example.formats, schedule="layers")
    fast.save(tmp_path, *example.inputs)
    command = [tool, "sparse", "run", tmp_path / "model.ein", "--data", tmp_path, "--output", tmp_path]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "values agree with the dense program" in ran.stdout
    import numpy

    got = torch.from_numpy(numpy.load(tmp_path / "out.npy"))
    torch.testing.assert_close(got.reshape(-1), fast(*example.inputs).reshape(-1))


def test_the_script_runs() -> None:
    ran = subprocess.run([sys.executable, FOLDER / "run.py", "spmv"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "out[i] = sum(j: operands_0[i, j] * operands_1[j])" in ran.stdout
    assert subprocess.run([sys.executable, FOLDER / "run.py", "nothing"], capture_output=True).returncode == 2
