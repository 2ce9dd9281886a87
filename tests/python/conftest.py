"""Every test starts with an empty Dynamo and a cache of its own."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
os.environ.setdefault("TOKAMAK_CACHE_DIR", tempfile.mkdtemp(prefix="tokamak-test-"))

import pytest
import torch


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
