"""Compares compiled functions with eager ones.

    compare(torch.softmax, [x, 1])                   # values, dtypes, shapes, strides
    compare({"exp": torch.exp, "log": torch.log}, [x], grad=True)

Several functions of the same inputs are compiled as one, which is faster and lets them fuse. A floating result is right
if it is close to eager's or if its error against float64 is no worse than eager's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tokamak.backend as backend
import torch
from torch.utils._pytree import tree_flatten, tree_map

VERSION = tuple(int(n) for n in torch.__version__.split(".")[:2])
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def compare(
    functions: Callable | Mapping[str, Callable],
    inputs: Iterable[Any],
    grad: bool = False,
    allow: Iterable[str] = (),
    tolerance: float | None = None,
    dynamic: bool = False,
    options: dict[str, Any] | None = None,
) -> None:
    """Asserts that the functions do compiled what they do in eager, and that ATen ran only ops that `allow` names."""
    table = dict(functions) if isinstance(functions, Mapping) else {"result": functions}
    inputs = list(inputs)
    table = {name: f for name, f in table.items() if runs(f, inputs)}
    assert table, "eager runs none of the functions"

    def all_of(*args: Any) -> list[Any]:
        return [f(*args) for f in table.values()]

    torch._dynamo.reset()
    with backend.recording() as graphs:
        ours = observe(torch.compile(all_of, backend="tokamak", dynamic=dynamic, options=options), inputs, grad)
    called = {r.op: r.reason for g in graphs for r in g.refusals if not any(a in r.op for a in allow)}
    assert not called, f"ATen ran {called}"
    eager = observe(all_of, inputs, grad)
    exact = observe(all_of, tree_map(widened, inputs), grad)
    names = label(table, inputs, grad)
    assert len(ours) == len(eager) == len(names)
    for name, a, e, x in zip(names, ours, eager, exact, strict=True):
        same(name, a, e, x, tolerance)


def runs(function: Callable, inputs: list[Any]) -> bool:
    try:
        function(*clones(inputs, False))
    except (RuntimeError, NotImplementedError, TypeError):
        return False
    return True


def observe(function: Callable, inputs: list[Any], grad: bool) -> list[Any]:
    """The tensors that a call gives, then the gradients of its inputs."""
    args = clones(inputs, grad)
    out = tree_flatten(function(*args))[0]
    if grad:
        leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        roots = [o for o in out if isinstance(o, torch.Tensor) and o.requires_grad]
        found = torch.autograd.grad(roots, leaves, [cotangent(r) for r in roots], allow_unused=True)
        out = out + [torch.zeros_like(a) if g is None else g for g, a in zip(found, leaves, strict=True)]
    return out


def cotangent(of: torch.Tensor) -> torch.Tensor:
    """Powers of two, the same in every dtype."""
    return torch.arange(of.numel(), dtype=torch.float64).remainder(3).sub(1).exp2().reshape(of.shape).to(of.dtype)


def clones(inputs: list[Any], grad: bool) -> list[Any]:
    """Copies with the same sizes and strides."""

    def copy(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        base = x.detach()
        for axis, stride in enumerate(x.stride()):
            base = base.narrow(axis, 0, 1) if stride == 0 and x.shape[axis] > 1 else base
        made = torch.empty_strided(base.shape, base.stride(), dtype=x.dtype).copy_(base).expand(x.shape)
        return made.requires_grad_(grad and x.dtype.is_floating_point)

    return [copy(x) for x in inputs]


def widened(x: Any) -> Any:
    return x.double() if isinstance(x, torch.Tensor) and x.dtype.is_floating_point else x


def label(table: Mapping[str, Callable], inputs: list[Any], grad: bool) -> list[str]:
    names = []
    for name, function in table.items():
        count = len(tree_flatten(function(*clones(inputs, False)))[0])
        names += [name if count == 1 else f"{name}[{i}]" for i in range(count)]
    floating = [i for i, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.dtype.is_floating_point]
    return names + [f"gradient of input {i}" for i in floating] if grad else names


def same(name: str, ours: Any, eager: Any, exact: Any, tolerance: float | None) -> None:
    if not isinstance(eager, torch.Tensor):
        assert ours == eager, f"{name}: {ours} instead of {eager}"
        return
    assert ours.dtype == eager.dtype, f"{name}: {ours.dtype} instead of {eager.dtype}"
    assert ours.shape == eager.shape, f"{name}: {ours.shape} instead of {eager.shape}"
    assert strides(ours) == strides(eager), f"{name}: strides {ours.stride()} instead of {eager.stride()}"
    if not eager.dtype.is_floating_point:
        assert torch.equal(ours, eager), f"{name}: {ours} instead of {eager}"
        return
    t = tolerance or TOLERANCE[eager.dtype]
    a, e, x = (v.detach().double() for v in (ours, eager, exact))
    near = torch.isclose(a, e, rtol=t, atol=t, equal_nan=True)
    if exact.shape == eager.shape and not near.all():
        near |= torch.isclose(a, x, rtol=t, atol=t, equal_nan=True) & e.isfinite()
        near |= (a - x).abs() <= (e - x).abs() * 1.1
    assert near.all(), f"{name}: {a[~near][:5].tolist()}, not {e[~near][:5].tolist()}; exactly {x[~near][:5].tolist()}"


def strides(x: torch.Tensor) -> list[int]:
    return [s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1] if x.numel() else []


def numbers(*shape: int, dtype: torch.dtype = torch.float32, special: bool = False, seed: int = 0) -> torch.Tensor:
    """Values of either sign; of floats with `special` some are NaN, infinite or a zero of either sign."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if not dtype.is_floating_point:
        low = 0 if dtype == torch.uint8 else -9
        return torch.randint(low, 10, shape, generator=generator).to(dtype)
    x = (torch.randn(shape, generator=generator) * 2).to(dtype)
    if special and x.numel() > 8:
        some = x.view(-1)[::5][: len(SPECIAL)]
        some.copy_(torch.tensor(SPECIAL[: len(some)]))
    return x


SPECIAL = [torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -3.0]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
DTYPES = [*FLOATS, torch.int64, torch.int32, torch.uint8, torch.bool]


def layouts(dtype: torch.dtype, seed: int = 0, special: bool = True) -> dict[str, torch.Tensor]:
    """Tensors of every kind of shape and stride."""
    big = numbers(9, 66, dtype=dtype, special=special, seed=seed)
    return {
        "dense": numbers(7, 33, dtype=dtype, special=special, seed=seed),
        "transposed": numbers(33, 7, dtype=dtype, special=special, seed=seed).t(),
        "strided": big[::2, 3::4],
        "expanded": numbers(1, 5, dtype=dtype, seed=seed).expand(3, 5),
        "scalar": numbers(dtype=dtype, seed=seed),
        "one": numbers(1, 1, dtype=dtype, seed=seed),
        "empty": numbers(0, 3, dtype=dtype),
    }
