"""Random functions of torch, compiled and compared with eager: 3 to 40 ops over all dtypes and layouts, forward,
backward and with symbolic sizes. A failure is shrunk to the fewest steps and printed as a function that reproduces it.

    python tests/fuzz/torch_programs.py --seconds 30 [--seed N] [--count N] [--device cuda]
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
import time
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch_steps import Step, input_text, random_step


@dataclasses.dataclass
class Program:
    inputs: list[str]  # expressions that make them
    steps: list[Step]
    outputs: list[int]

    def source(self) -> str:
        names = ", ".join(f"v{i}" for i in range(len(self.inputs)))
        lines = [f"    {s.line(len(self.inputs) + i)}" for i, s in enumerate(self.steps)]
        result = ", ".join(f"v{i}" for i in self.outputs)
        return f"def fn({names}):\n" + "\n".join(lines) + f"\n    return ({result},)\n"

    def function(self) -> Callable:
        scope = {"torch": torch, "F": F}
        exec(self.source(), scope)
        return scope["fn"]

    def make_inputs(self, seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        return [eval(text, {"torch": torch}) for text in self.inputs]


def random_program(seed: int) -> Program:
    """Steps are tried in eager one by one; what eager refuses is not taken."""
    rng = random.Random(seed)
    inputs = [input_text(rng) for _ in range(rng.randint(1, 3))]
    program = Program(inputs, [], [])
    values = program.make_inputs(seed)
    wanted, tries = rng.randint(3, 40), 0
    while len(program.steps) < wanted and tries < 400:
        tries += 1
        step = random_step(rng, values)
        scope = {"torch": torch, "F": F, **{f"v{k}": v for k, v in enumerate(values)}}
        try:
            exec(step.line(len(values)), scope)
        except Exception:
            continue
        result = scope[f"v{len(values)}"]
        if not isinstance(result, torch.Tensor) or result.numel() > 20000 or result.dim() > 6 or result.is_complex():
            continue
        values.append(result)
        program.steps.append(step)
    used = {i for s in program.steps for i in s.operands}
    program.outputs = [k for k in range(len(inputs), len(values)) if k not in used][-4:] or [len(values) - 1]
    return program


def problem_with(program: Program, seed: int, grad: bool, dynamic: bool) -> str | None:
    """What is wrong with the compiled program, or nothing."""
    torch._dynamo.reset()
    fn = program.function()
    try:
        exact = observe(fn, [wide(t) for t in program.make_inputs(seed)], grad)
        eager = observe(fn, program.make_inputs(seed), grad)
    except Exception:
        return None  # eager refuses the gradient
    try:
        ours = observe(torch.compile(fn, backend="tokamak", dynamic=dynamic), program.make_inputs(seed), grad)
    except Exception as error:
        return None if fails_in_torch(program, seed, grad, dynamic) else f"{type(error).__name__}: {first_line(error)}"
    whole = "float" not in program.source() and not any(
        t.is_floating_point() for t in program.make_inputs(seed) + eager
    )
    for k, (a, e) in enumerate(zip(ours, eager, strict=True)):
        x = exact[k] if exact[k].shape == e.shape else e
        if whole and not torch.equal(a, e):
            return f"result {k}: {(a != e).sum()} of {e.numel()} whole numbers differ"
        if why := difference(a, e, x):
            return f"result {k}: {why}"
    return None


def fails_in_torch(program: Program, seed: int, grad: bool, dynamic: bool) -> bool:
    """Whether torch's own back end cannot run it either: shifts of truth values are refused by Dynamo."""
    torch._dynamo.reset()
    try:
        observe(
            torch.compile(program.function(), backend="aot_eager", dynamic=dynamic), program.make_inputs(seed), grad
        )
    except Exception:
        return True
    return False


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200]


def wide(t: torch.Tensor) -> torch.Tensor:
    return t.double() if t.is_floating_point() else t


def observe(fn: Callable, inputs: list[torch.Tensor], grad: bool) -> list[torch.Tensor]:
    """Results, then gradients or what the inputs hold afterwards."""
    inputs = [t.detach().requires_grad_(grad and t.is_floating_point()) for t in inputs]
    out = list(fn(*inputs))
    if not grad:
        return out + inputs
    roots = [o for o in out if o.requires_grad]
    leaves = [t for t in inputs if t.requires_grad]
    if roots and leaves:
        found = torch.autograd.grad(roots, leaves, [torch.ones_like(r) for r in roots], allow_unused=True)
        # Of inputs that are read in vain eager has no gradient and tracing may have zeros.
        out += [torch.zeros_like(t) if g is None else g for g, t in zip(found, leaves, strict=True)]
    return out


def difference(ours: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> str | None:
    if ours.dtype != eager.dtype or ours.shape != eager.shape:
        return f"{ours.dtype}{list(ours.shape)}, not {eager.dtype}{list(eager.shape)}"
    if not eager.is_floating_point():
        # Rounding decides comparisons, positions and conversions near ties: only gross disagreement is a fault.
        wrong = (ours != eager).double().mean().item() if eager.numel() else 0.0
        return f"{wrong:.0%} of the elements differ" if wrong > 0.05 and eager.numel() > 8 else None
    a, e, x = ours.double(), eager.double(), exact.double()
    ours_off, eager_off = (a - x).abs().nan_to_num(0, 0, 0), (e - x).abs().nan_to_num(0, 0, 0)
    if not torch.equal(a.isnan(), e.isnan()) and not torch.equal(a.isnan(), x.isnan()):
        return "NaN in other places"
    slack = {torch.float64: 1e-9, torch.float32: 1e-3, torch.float16: 5e-2, torch.bfloat16: 2e-1}[eager.dtype]
    scale = x.nan_to_num(0, 0, 0).abs().max().item() if x.numel() else 0.0
    worst = ours_off.max().item() if x.numel() else 0.0
    allowed = 4 * (eager_off.max().item() if x.numel() else 0.0) + slack * (1e-3 + scale)
    return f"off by {worst:.3g}, eager by {eager_off.max().item():.3g}" if worst > allowed else None


def without(program: Program, index: int) -> Program | None:
    """The program without one step, its readers reading the step's first operand."""
    first = len(program.inputs)
    gone, stand_in = first + index, program.steps[index].operands[0]

    def moved(v: int) -> int:
        v = stand_in if v == gone else v
        return v - (v > gone)

    steps = [Step(s.text, tuple(map(moved, s.operands))) for k, s in enumerate(program.steps) if k != index]
    return Program(program.inputs, steps, sorted({moved(v) for v in program.outputs})) if steps else None


def shrunk(program: Program, seed: int, grad: bool, dynamic: bool) -> Program:
    """Leaves out results and steps as long as something is wrong."""
    progress = True
    while progress:
        progress = False
        for output in list(program.outputs) if len(program.outputs) > 1 else []:
            smaller = Program(program.inputs, program.steps, [output])
            if problem_with(smaller, seed, grad, dynamic):
                program, progress = smaller, True
                break
        for index in reversed(range(len(program.steps))):
            smaller = without(program, index)
            if smaller and problem_with(smaller, seed, grad, dynamic):
                program, progress = smaller, True
                break
    return program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=1 << 30, help="programs at most")
    parser.add_argument("--device", default="cpu", help="where the tensors lie")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_default_device(args.device)
    start, done, failed = time.monotonic(), 0, 0
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() - start > args.seconds:
            break
        program = random_program(seed)
        for grad, dynamic in ((False, False), (True, False), (False, True)):
            if why := problem_with(program, seed, grad, dynamic):
                failed += 1
                small = shrunk(program, seed, grad, dynamic)
                why = problem_with(small, seed, grad, dynamic) or why
                print(f"seed {seed}{', backward' * grad}{', dynamic' * dynamic}: {why}")
                for k, text in enumerate(small.inputs):
                    print(f"  v{k} = {text}")
                print("  " + small.source().replace("\n", "\n  "))
                break
        done += 1
        if sys.stderr.isatty():
            print(f"\r{done} programs, {failed} wrong", end="", file=sys.stderr)
    print(f"{done} programs from seed {args.seed}, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
