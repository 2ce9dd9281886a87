"""The program `tokamak` as the wheel installs it, and `python -m tokamak`: the command line out of the extension."""

from __future__ import annotations

import os
import sys

from tokamak import _ext


def main() -> int:
    if os.access(sys.argv[0], os.X_OK):
        os.environ.setdefault("TOKAMAK", os.path.abspath(sys.argv[0]))  # what a cluster's workers run
    os.environ.setdefault("TOKAMAK_PYTHON", sys.executable)
    return _ext.command_line(["tokamak", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
