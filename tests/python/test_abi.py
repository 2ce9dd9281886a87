"""One extension module serves every Python from 3.11 on: it is loaded by each interpreter that this machine has."""

import glob
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tokamak

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import _ext
graph = _ext.Graph("sum")
x = graph.input("x", "f32", [8, 16])
graph.output(graph.op("relu", [x], ""))
executable = _ext.Engine(disk_cache=False).compile(graph)
assert len(executable.kernels()) == 1, executable.kernels()
assert "kernel @" in executable.kernels()[0]
try:
    _ext.Graph("bad").op("no_such_op", [], "")
except _ext.Error as error:
    assert "no_such_op" in str(error)
else:
    raise AssertionError("an op that does not exist was taken")
print(sys.version_info[:2])
"""


def interpreters() -> list[str]:
    found = [sys.executable, *glob.glob("/usr/bin/python3.[0-9][0-9]")]
    found += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    by_version = {}
    for path in found:
        done = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            by_version.setdefault(tuple(map(int, done.stdout.split())), path)
    return [path for version, path in sorted(by_version.items()) if version >= (3, 11)]


@pytest.mark.parametrize("python", interpreters())
def test_the_extension_loads_and_compiles(python):
    folder = Path(tokamak.__file__).parent
    done = subprocess.run([python, "-c", PROGRAM, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
