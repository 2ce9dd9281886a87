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
