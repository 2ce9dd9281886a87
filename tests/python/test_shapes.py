"""Views and copies against eager: every dtype, bounds of every kind, empty and 0-d tensors, symbolic sizes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import DTYPES, compare, numbers

VIEWS = {
    "transpose": lambda x: x.transpose(0, -1) + x.transpose(0, -1),
    "permute": lambda x: x.permute(2, 0, 1).clone(),
    "reshape": lambda x: x.reshape(-1, 3).clone(),
    "squeeze": lambda x: x[:, :1].squeeze(1).unsqueeze(-1).clone(),
    "expand": lambda x: x[:1, :, None].expand(3, -1, 2, -1).clone(),
    "slice": lambda x: x[1:-1, ::2, -4:].clone(),
    "clamped": lambda x: (x[-100:3].clone(), x[2:100].clone(), x[:, 5:2].clone(), x[9:].clone()),
    "select": lambda x: (x[0].clone(), x[:, -1].clone(), x[..., 2].clone()),
    "split": lambda x: [p.clone() for p in (*x.split(2), *x.split([1, 5], 1), *x.chunk(4, 2), *x.unbind(1))],
    "movedim": lambda x: x.movedim(0, 2).swapaxes(0, 1).clone(),
    "diagonal": lambda x: (x.diagonal().clone(), x.diagonal(2, 1, 2).clone(), x.diagonal(-9, 0, 1).clone()),
    "unfold": lambda x: (x.unfold(1, 3, 2).clone(), x.unfold(2, 3, 3).clone(), x.unfold(0, 1, 1).clone()),
}
COPIES = {
    "cat": lambda x: (torch.cat([x, x[:1], x]), torch.cat([x, x[:, :2]], 1), torch.cat([x, x[:0]])),
    "stack": lambda x: torch.stack([x, x], -1),
    "flip": lambda x: (x.flip(0, -1), x.flip(()), x.rot90(1, (0, 2))),
    "roll": lambda x: (x.roll(2, 1), x.roll((1, -2), (0, 2)), x.roll(5), x.roll(-20, 0)),
    "repeat": lambda x: (x.repeat(2, 1, 3), x.repeat(2, 1, 1, 2), x.tile(2), x.repeat_interleave(2, 1)),
    "pad": lambda x: (F.pad(x, (1, 2)), F.pad(x, (0, 1, -2, 3), value=1), F.pad(x, (-1, -1, 0, 0, 2, 0))),
    "tril": lambda x: (x.tril(), x.triu(1), x.tril(-2)),
    "diag": lambda x: (x[0].diag_embed(), x[0, 0].diag(1), torch.block_diag(x[0], x[1])),
}
WRITES = {
    "slice": lambda x, y: torch.slice_scatter(x, y[:, :2], 1, 2, 4),
    "strided slice": lambda x, y: torch.slice_scatter(x, y[:, :3], 1, 1, 7, 2),
    "last": lambda x, y: torch.slice_scatter(x, y[:, :, :2], 2, -2),
    "select": lambda x, y: torch.select_scatter(x, y[:, 0], 1, -1),
    "diagonal": lambda x, y: torch.diagonal_scatter(x, y[:, 0, :4], 1, 1, 2),
    "fill": lambda x, y: torch.fill(x, 3),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool], ids=str)
def test_every_width(dtype: torch.dtype) -> None:
    compare(VIEWS | COPIES, [numbers(4, 6, 5, dtype=dtype, special=True)])
    compare(WRITES, [numbers(4, 6, 5, dtype=dtype), numbers(4, 6, 5, dtype=dtype, seed=1)])


def test_writes_of_another_dtype() -> None:
    whole = numbers(4, 6, 5, dtype=torch.int64)
    compare(WRITES, [whole, numbers(4, 6, 5)])
    compare(WRITES, [whole > 0, whole])
    compare(WRITES, [numbers(4, 6, 5, dtype=torch.float16), numbers(4, 6, 5)])


def test_gradients() -> None:
    compare(VIEWS | COPIES, [numbers(4, 6, 5)], grad=True)
    compare(WRITES, [numbers(4, 6, 5), numbers(4, 6, 5, seed=1)], grad=True)


def test_strided_inputs() -> None:
    compare(VIEWS | COPIES, [numbers(5, 6, 4).transpose(0, 2)])
    compare(COPIES, [numbers(8, 6, 10)[::2, :, ::2]])


def test_symbolic_sizes() -> None:
    names = ("transpose", "permute", "expand", "slice", "select", "cat", "stack", "flip", "repeat", "pad", "tril")
    table = {k: v for k, v in (VIEWS | COPIES).items() if k in names}
    compare(table, [numbers(4, 6, 5)], dynamic=True)
    compare(
        {"ends": lambda x, n: (x[n.shape[0] :] * 2, x[: -n.shape[0]] + 1)}, [numbers(9, 3), numbers(2)], dynamic=True
    )


def test_empty_and_scalars() -> None:
    compare({"cat of a legacy empty": lambda x: torch.cat([torch.empty(0), x], 1)}, [numbers(3, 4)])
    compare({"all empty": lambda x: torch.cat([x, x])}, [numbers(0)])
    compare(
        {"flip": lambda x: x.flip(0), "roll": lambda x: x.roll(1, 1), "pad": lambda x: F.pad(x, (1, 1)),
         "repeat": lambda x: x.repeat(2, 2), "slice": lambda x: x[:0].clone()},
        [numbers(0, 3)],
    )  # fmt: skip
    compare(
        {"repeat": lambda x: x.repeat(3), "expand": lambda x: x.expand(2, 2).clone(), "flip": lambda x: x.flip(0),
         "unfold": lambda x: x.unfold(0, 1, 1).clone(), "view": lambda x: x.reshape(1, 1) * 2},
        [numbers()],
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes(mode: str) -> None:
    table = {mode: lambda x: F.pad(x, (2, 1, 0, 3), mode=mode)}
    compare(table, [numbers(2, 3, 5, 4)], grad=True, allow=["replication_pad2d_backward"])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_ranges_and_fills(dtype: torch.dtype) -> None:
    table = {
        "arange": lambda x: torch.arange(7, dtype=dtype) if dtype != torch.bool else x,
        "steps": lambda x: torch.arange(20, 2, -3, dtype=dtype) if dtype != torch.bool else x,
        "full": lambda x: (
            torch.full((2, 3), 1, dtype=dtype),
            torch.full_like(x, 2),
            x.new_zeros(3),
            torch.ones_like(x),
        ),
        "eye": lambda x: torch.eye(3, 5, dtype=dtype),
        "zeros": lambda x: torch.zeros(0, 3, dtype=dtype),
    }
    if dtype.is_floating_point:
        table["fractions"] = lambda x: torch.arange(0.5, 3, 0.25, dtype=dtype)
        table["linspace"] = lambda x: torch.linspace(-1, 1, 11, dtype=dtype)
        table["too large"] = lambda x: torch.full_like(x, 1e39 if dtype != torch.float64 else 1e300)
    compare({k: (lambda x, f=f: (f(x), x.clone())) for k, f in table.items()}, [numbers(2, 3, dtype=dtype)])


@pytest.mark.parametrize("width", [16, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_long_concatenations(width, dtype):
    """Vectors lie within one operand, or within several."""
    torch.manual_seed(0)
    parts = [torch.randn(9, width * (1 + i % 3)).to(dtype) for i in range(7)]

    def joined(scale, *parts):
        whole = torch.cat([p * (i + 1) for i, p in enumerate(parts)], 1)
        return whole.relu() * scale, whole.abs().sum(1), torch.cat([p.t() for p in parts]) - 1

    scale = torch.randn(sum(p.shape[1] for p in parts)).to(dtype)
    got = torch.compile(joined, backend="tokamak", fullgraph=True)(scale, *parts)
    for ours, eager in zip(got, joined(scale, *parts), strict=True):
        torch.testing.assert_close(ours, eager)


def test_numbers_made_of_sizes_may_be_negative():
    def negative(x):
        n = x.shape[0]
        return x * (n - 9), x + (-n // 2), (x @ x.t()).triu(-n // 2)

    for rows in (5, 9, 16):
        compare(negative, [numbers(rows, 4)], grad=True, dynamic=True)


def test_integer_arguments_may_be_negative():
    def f(x, n):
        kept = (x.detach() * 9).int()
        return (
            x * n,
            x + n // 3 - n % 4,
            x.tril(n),
            x.roll(n, 0),
            x[n % 6],
            torch.where(x > n, x, n),
            kept * n,
            x / (2 * n + 1),
        )

    compiled = torch.compile(f, backend="tokamak")  # dynamic from the second integer on
    x = numbers(6, 4)
    for n in (3, 5, -3, -7, 0, 1, -(2**40)):
        for ours, eager in zip(compiled(x, n), f(x, n), strict=True):
            torch.testing.assert_close(ours, eager)


def test_integers_that_tensors_hold_may_be_negative():
    def f(x):
        return x * x.sum().long().item() + 1

    x = numbers(6, 4).abs()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(f, backend="tokamak")
        for given in (x, -x, x[:3]):
            torch.testing.assert_close(compiled(given), f(given))
