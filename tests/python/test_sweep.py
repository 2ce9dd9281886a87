"""tokamak sweep on a Dask cluster finds what it finds on local cores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tokamak

ROOT = Path(__file__).resolve().parent.parent.parent
TOKAMAK = Path(os.environ.get("TOKAMAK", ROOT / "build" / "dev" / "bin" / "tokamak"))
distributed = pytest.importorskip("dask.distributed", reason="dask.distributed is not installed")
pytestmark = pytest.mark.skipif(not TOKAMAK.exists(), reason=f"the command line is not built: {TOKAMAK}")

PROGRAM = [str(ROOT / "examples" / "sparse" / "softmax.ein"), "--random", "0", "--dims", "N=30,M=20", "--orders", "4"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    os.environ["TOKAMAK"] = str(TOKAMAK)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        local_directory=str(tmp_path_factory.mktemp("dask")),
    ) as started:
        yield started


def local(folder: Path, *more: str) -> dict:
    command = [str(TOKAMAK), "sweep", *PROGRAM, "--database", str(folder / "local.db"), "--json", *more]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_a_cluster_finds_what_local_cores_find(cluster, tmp_path):
    from tokamak import sweep

    best = tmp_path / "best.schedule"
    arguments = [*PROGRAM, "--database", str(tmp_path / "cluster.db"), "-o", str(best), "--json"]
    with distributed.Client(cluster) as client:
        found = json.loads(sweep.sweep(arguments, client))
    expected = local(tmp_path)
    assert found["cycles"] == expected["cycles"]
    assert found["schedule"] == expected["schedule"] == best.read_text()
    assert found["fresh"] == 0, "everything was simulated by the workers"
    assert found["simulated"] == expected["simulated"]


def test_what_a_machine_cannot_run_is_left_out(cluster, tmp_path):
    """Streams so shallow that six of the fourteen choices wait for ever."""
    from tokamak import sweep

    machine = tmp_path / "machine.json"
    machine.write_text('{"fifo_depth": 4}')
    options = ["--profile", "hw", f"--config={machine}", "--exhaustive"]
    arguments = [*PROGRAM, *options, "--database", str(tmp_path / "cluster.db"), "--json"]
    with distributed.Client(cluster) as client:
        found = json.loads(sweep.sweep(arguments, client))
    expected = local(tmp_path, *options)
    assert expected["fresh"] == 8 and expected["simulated"] == 14
    for key in ["cycles", "schedule", "simulated", "choices", "complete"]:
        assert found[key] == expected[key], key


def test_data_travel_with_the_tasks(tmp_path):
    import numpy as np
    from tokamak import sweep

    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "A.npy", np.eye(6))
    words, files = sweep.packed([PROGRAM[0], "--data", str(data), "--dims", "N=3"])
    assert words[1:] == ["--data", "data", "--dims", "N=3"]
    assert words[0] in files and "data/A.npy" in files
    assert sweep.packed([PROGRAM[0], f"--data={data}", "--dims", "N=3"]) == (words, files)
    words, files = sweep.packed([PROGRAM[0], "--input", f"A={data / 'A.npy'}"])
    assert words[2] == "A=files/1-A.npy" and set(files) == {words[0], "files/1-A.npy"}


def test_a_scheduler_that_is_not_there(tmp_path):
    command = [sys.executable, "-m", "tokamak.sweep", *PROGRAM, "--scheduler", "tcp://127.0.0.1:9"]
    package = os.path.dirname(os.path.dirname(os.path.abspath(tokamak.__file__)))
    environment = {**os.environ, "PYTHONPATH": package, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.stderr
