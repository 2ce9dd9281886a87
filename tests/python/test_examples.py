"""The examples in Python run."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def test_guide_on_torch_compile(tmp_path):
    ran = subprocess.run([sys.executable, EXAMPLES / "torch_compile.py", tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "runs as itself" in ran.stdout
    assert (tmp_path / "mlp.html").stat().st_size > 0
    assert (tmp_path / "mlp.json").stat().st_size > 0


def test_guide_on_sparse_models(tmp_path):
    ran = subprocess.run([sys.executable, EXAMPLES / "sparse_compile.py", tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "unfused: 1" in ran.stdout and "regions" in ran.stdout
    assert "argmax in Best: error T0910" in ran.stdout
    assert (tmp_path / "model.ein").stat().st_size > 0
    assert (tmp_path / "A.mtx").stat().st_size > 0
