"""`tokamak sweep` on a Dask cluster: simulations run on the workers, the search and its database stay here.

    tokamak sweep gcn.ein --data cora --scheduler tcp://host:8786 -o gcn.best

is `python -m tokamak.sweep gcn.ein --data cora --scheduler tcp://host:8786 -o gcn.best`. The command line says what is
to be simulated next, simulates it on the workers and reports; this module carries the questions and answers between
them. Program and data travel with the tasks, so workers need no common file system, only `tokamak` itself: on their
PATH, or where TOKAMAK says.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


class SweepError(RuntimeError):
    """The command line refused: its diagnostic is the message."""


def program() -> str:
    """Where the command line is."""
    found = os.environ.get("TOKAMAK") or shutil.which("tokamak")
    if not found:
        raise SweepError("there is no tokamak on the PATH: build it, or name it in TOKAMAK")
    return found


def run(arguments: list[str], stdin: str | None = None) -> str:
    """The command line's output; its diagnostic as a SweepError."""
    done = subprocess.run([program(), "sweep", *arguments], capture_output=True, text=True, input=stdin, check=False)
    if done.returncode not in (0, 1):
        raise SweepError(done.stderr.strip() or f"tokamak sweep ended with {done.returncode}")
    return done.stdout


def packed(arguments: list[str]) -> tuple[list[str], dict[str, bytes]]:
    """The arguments with files replaced by names relative to a folder, and those files' contents."""
    files: dict[str, bytes] = {}
    out: list[str] = []
    before = ""

    def shipped(path: Path) -> str:
        name = f"files/{len(files)}-{path.name}"
        files[name] = path.read_bytes()
        return name

    options = ("--data", "--input", "--config", "--schedule")
    split = [w.partition("=")[::2] if w.startswith(tuple(f"{o}=" for o in options)) else (w,) for w in arguments]
    for word in (word for words in split for word in words):
        path = Path(word)
        if before == "--data" and path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    files[f"data/{file.relative_to(path).as_posix()}"] = file.read_bytes()
            word = "data"
        elif before == "--input" and Path(word.partition("=")[2]).is_file():
            tensor, _, file = word.partition("=")
            word = f"{tensor}={shipped(Path(file))}"
        elif path.is_file() and (path.suffix in (".ein", ".mlir") or before in ("--config", "--schedule")):
            word = shipped(path)
        out.append(word)
        before = word if word.startswith("-") else ""
    return out, files


def simulate(arguments: list[str], files: dict[str, bytes], key: str) -> str:
    """On a worker: one measurement, as the line of JSON that the command line wrote."""
    with tempfile.TemporaryDirectory(prefix="tokamak-sweep-") as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        local = [
            re.sub(r"^(\w+=)?(data$|files/)", lambda found: f"{found[1] or ''}{folder}/{found[2]}", word)
            for word in arguments
        ]
        database = str(Path(folder) / "unused.db")
        return run([*local, "--worker", "--database", database], stdin=key + "\n")


def sweep(arguments: list[str], client) -> str:
    """Searches with the workers of a dask.distributed Client; gives the report of `tokamak sweep`."""
    shipped, files = packed([word for word in without(arguments, "-o", "--database") if word != "--json"])
    scattered = client.scatter(files, broadcast=True)
    while missing := json.loads(run([*without(arguments, "-o"), "--next"]))["missing"]:
        futures = [client.submit(simulate, shipped, scattered, key, pure=False) for key in dict.fromkeys(missing)]
        for ready in as_completed(futures):  # kept as they come: ending this process loses nothing
            answers = "".join(future.result() for future in ready)
            run([*without(arguments, "-o"), "--accept"], stdin=answers)
    return run(arguments)


def as_completed(futures: list):
    """Futures in batches, as many as are done by then."""
    from dask.distributed import as_completed as completed

    return completed(futures).batches()


def without(arguments: list[str], *options: str) -> list[str]:
    """The arguments without these options and their values."""
    out, skip = [], False
    for word in arguments:
        if skip:
            skip = False
        elif word in options:
            skip = True
        elif not any(word.startswith(option + "=") for option in options):
            out.append(word)
    return out


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tokamak sweep", add_help=False)
    parser.add_argument("--scheduler", required=True)
    known, rest = parser.parse_known_args(arguments)
    try:
        from dask.distributed import Client
    except ImportError:
        print("error T0993: tokamak sweep --scheduler needs the package `distributed`", file=sys.stderr)
        print("  hint: pip install distributed", file=sys.stderr)
        return 2
    try:
        with Client(known.scheduler, timeout="10s") as client:
            print(sweep(rest, client), end="")
    except (OSError, TimeoutError) as error:
        print(f"tokamak sweep: no Dask scheduler answers at {known.scheduler}: {error}", file=sys.stderr)
        return 2
    except SweepError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tokamak sweep: ended; the same command goes on; what was simulated is kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
