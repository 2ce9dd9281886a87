"""Calls of the command line, several at a time, whose answers are kept, with what they take in time and memory."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path


def resident(pid: int) -> float:
    """Gigabytes of memory of a process; none when it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


class Calls:
    """Runs the command line with --json on all cores. Answers are kept in a file, and with them how long the study has
    run, in how many runs, and the most memory that all its processes had together."""

    def __init__(self, tokamak: str, file: Path) -> None:
        self.tokamak, self.file = tokamak, file
        kept = json.loads(file.read_text()) if file.exists() else {}
        self.answers: dict[str, dict] = kept.get("answers", {})
        self.seconds, self.memory, self.runs = (kept.get(key, 0) for key in ["seconds", "memory", "runs"])
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen] = set()
        self.ended = threading.Event()
        self.asked = False  # whether this run has called anything
        self.pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def __enter__(self) -> "Calls":
        self.since = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.ended.set()
            for process in self.running:
                process.terminate()
            self._keep()
        self.pool.shutdown(cancel_futures=True)

    def later(self, step: Callable, *arguments: object) -> Future:
        """A step of the study that runs when a core is free, in the order of asking."""
        return self.pool.submit(step, *arguments)

    def call(self, key: str, what: str, words: list[str]) -> dict:
        """One call; `key` names its answer, `what` is for the progress line."""
        if key in self.answers:
            return self.answers[key]
        start = time.monotonic()
        with self.lock:
            if self.ended.is_set():
                raise KeyboardInterrupt
            self.runs += not self.asked
            self.asked = True
            process = subprocess.Popen(
                [self.tokamak, *words, "--json"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C is the study's, which ends its calls itself
            )
            self.running.add(process)
        out, errors = process.communicate()
        answer: dict = {"seconds": time.monotonic() - start}
        with self.lock:
            self.running.discard(process)
            if self.ended.is_set():
                raise KeyboardInterrupt
            if process.returncode == 0:
                answer["answer"] = json.loads(out)
            else:
                answer["refused"] = errors.strip().splitlines()[0] if errors.strip() else "ended"
            print(f"study: {what} {answer['seconds']:.1f} s", answer.get("refused", ""), file=sys.stderr, flush=True)
            self.answers[key] = answer
            self._keep()
        return answer

    def _watch(self) -> None:
        while not self.ended.wait(0.2):
            with self.lock:
                processes = [os.getpid(), *(process.pid for process in self.running)]
            self.memory = max(self.memory, sum(resident(pid) for pid in processes))

    def _keep(self) -> None:
        if not self.asked:
            return
        now = time.monotonic()
        self.seconds, self.since = self.seconds + now - self.since, now
        kept = {"seconds": self.seconds, "memory": self.memory, "runs": self.runs, "answers": self.answers}
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(kept, indent=1))
        partial.replace(self.file)


def settled(steps: object) -> object:
    """What steps came to: what is to come, functions that say it, and dictionaries of them."""
    if isinstance(steps, Future):
        return settled(steps.result())
    if callable(steps):
        return settled(steps())
    return {name: settled(step) for name, step in steps.items()} if isinstance(steps, dict) else steps
