"""The committed table of ops is the truth."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tokamak import coverage

PAGE = Path(__file__).parents[2] / "docs" / "aten.md"


def test_the_page_is_current():
    if f"torch {torch.__version__.split('+')[0]}'s" not in PAGE.read_text():
        pytest.skip("the page was written for another torch")
    run = subprocess.run([sys.executable, "-m", "tokamak.coverage"], capture_output=True, text=True, check=True)
    assert PAGE.read_text() == run.stdout, "run: python -m tokamak.coverage > docs/aten.md"


def test_most_ops_are_ours():
    kinds = [coverage.kind_of(op) for op in coverage.core_ops()]
    assert kinds.count("ATen") <= 30
