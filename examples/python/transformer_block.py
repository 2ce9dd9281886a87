"""A transformer block in eager, Inductor and Tokamak, side by side.

    PYTHONPATH=build/release/python .venv/bin/python examples/python/transformer_block.py [--html FILE] [--tokens N]

Each runs the block in a process of its own for error, memory and counts, then all run in turn in one process for time.
"""

import argparse
import contextlib
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
import warnings

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Attention and a gated MLP, each after an RMS norm and with a residual sum."""

    def __init__(self, width: int = 768, heads: int = 12):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gate_up, self.down = nn.Linear(width, 8 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def make(tokens: int, dtype: torch.dtype = torch.float32) -> tuple[Block, torch.Tensor]:
    torch.manual_seed(0)
    return Block().eval().to(dtype), torch.randn(2, tokens, 768).to(dtype)


def backend_of(name: str):
    """The bench's description of a back end, with empty caches."""
    from fusionbench.backend import Settings
    from fusionbench.backends import BACKENDS

    os.environ.update(BACKENDS[name].environment(tempfile.mkdtemp(prefix="tokamak-demo-")))
    return BACKENDS[name](Settings())


def keyword(module: nn.Module, x: torch.Tensor, function) -> torch.Tensor:
    with torch.no_grad():
        return function(x=x)


def inspect(pipe, name: str, tokens: int, page: str) -> None:
    """What one back end makes of the block: error, memory, kernels, bytes; and Tokamak's explanation as a page."""
    warnings.simplefilter("ignore")
    try:
        from fusionbench.memory import call_memory

        (exact_block, exact_x), (block, x) = make(tokens, torch.float64), make(tokens)
        exact = keyword(exact_block, exact_x, exact_block)
        backend, found = backend_of(name), {}

        def prepare() -> None:
            found["function"] = backend.compile(block)
            result = keyword(block, x, found["function"])
            found["error"] = (result.double() - exact).abs().max().item()
            found.update(backend.facts(lambda: keyword(block, x, found["function"])))

        found.update(call_memory(prepare, lambda: keyword(block, x, found["function"]), backend.trim))
        del found["function"]
        if name == "tokamak":
            import tokamak

            with torch.no_grad():
                tokamak.explain(block, x).save(page)
        pipe.send(found)
    except Exception as error:
        pipe.send({"failure": f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"[:160]})


def ask(name: str, tokens: int, page: str) -> dict:
    progress(f"{name}: compiling, checking against float64")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=inspect, args=(theirs, name, tokens, page))
    child.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return {"failure": "its process died"}
    finally:
        child.join()


def progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")


def times(names: list[str], tokens: int, seconds: float = 4.0) -> dict[str, float]:
    """Milliseconds a call, in turn, median."""
    progress("timing, in turn")
    block, x = make(tokens)
    functions = {name: backend_of(name).compile(block) for name in names}
    for function in functions.values():
        keyword(block, x, function)
    seen: dict[str, list[float]] = {name: [] for name in names}
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(seen[names[0]]) < 5:
        for name, function in functions.items():
            at = time.perf_counter()
            keyword(block, x, function)
            seen[name].append((time.perf_counter() - at) * 1e3)
    return {name: statistics.median(values) for name, values in seen.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--html", default="build/demo/torch_explain.html", help="where the explanation goes")
    parser.add_argument("--tokens", type=int, default=256)
    options = parser.parse_args()
    os.makedirs(os.path.dirname(os.path.abspath(options.html)), exist_ok=True)
    names = ["eager", "inductor", "tokamak"]
    found = {name: ask(name, options.tokens, os.path.abspath(options.html)) for name in names}
    running = [name for name in names if "failure" not in found[name]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = times(running, options.tokens) if running else {}
    progress("")
    show(found, taken, options)


def show(found: dict[str, dict], taken: dict[str, float], options: argparse.Namespace) -> None:
    print(f"a block of width 768 over 2 x {options.tokens} tokens, f32, threads: {torch.get_num_threads()}\n")
    print(f"{'':<10}{'time':>10}{'kernels':>10}{'calls':>8}{'MB moved':>10}{'peak MB':>10}{'error':>10}")
    for name, cell in found.items():
        if "failure" in cell:
            print(f"{name:<10}  did not run: {cell['failure']}")
            continue
        moved = f"{cell['bytes_moved'] / 1e6:.1f}" if "bytes_moved" in cell else "-"
        peak = f"{cell['peak_bytes'] / 1e6:.1f}" if "peak_bytes" in cell else "-"
        counts = f"{cell['kernels'] or '-':>10}{cell['calls']:>8}"
        print(f"{name:<10}{taken[name]:>7.2f} ms{counts}{moved:>10}{peak:>10}{cell['error']:>10.1e}")
    print("\nkernels are compiled; calls go to ATen or a library outside them; error is the largest against float64")
    ours = found["tokamak"]
    with contextlib.suppress(KeyError):
        unfused, fused = ours["bytes_moved_unfused"] / 1e6, ours["bytes_moved"] / 1e6
        print(f"fusion: {unfused:.1f} MB would move between Tokamak's kernels with one an op, {fused:.1f} MB do")
        print(f"why, edge by edge: {options.html}")


if __name__ == "__main__":
    main()
