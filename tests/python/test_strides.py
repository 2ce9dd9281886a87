"""Strides of results against eager's, of operands in every layout. `compare` looks at strides too."""

from __future__ import annotations

import functools

import pytest
import torch
import torch.nn.functional as F
from checks import VERSION, compare, numbers

huber_loss = functools.partial(F.huber_loss, reduction="none")
LAYOUTS = {
    "dense": lambda seed: numbers(2, 3, 4, 5, seed=seed),
    "channels last": lambda seed: numbers(2, 3, 4, 5, seed=seed).to(memory_format=torch.channels_last),
    "permuted": lambda seed: numbers(5, 2, 4, 3, seed=seed).permute(1, 3, 2, 0),
    "expanded": lambda seed: numbers(2, 1, 4, 5, seed=seed).expand(2, 3, 4, 5),
    "gaps": lambda seed: numbers(4, 3, 8, 5, seed=seed)[::2, :, 1::2],
    "gaps, channels last": lambda seed: numbers(2, 3, 4, 10, seed=seed).to(memory_format=torch.channels_last)[..., ::2],
}
OF_ONE = {
    "pow": lambda x: (torch.pow(2.0, x), 2**x + 1, torch.pow(1, x)),
    "log_sigmoid": F.logsigmoid,
    "batch_norm": lambda x: F.batch_norm(x, x.new_zeros(3), x.new_ones(3)),
    "batch_norm of its own": lambda x: F.batch_norm(x, None, None, training=True),
    "roll": lambda x: (x.roll(1, 0), x.roll(-2, 3), x.roll((1, 2), (0, 2)), x.roll(3)),
    "select_scatter": lambda x: (x.select_scatter(x[0], 0, 1), x.select_scatter(x[:, 0], 1, -1) * 2),
    "slice_scatter": lambda x: (x.slice_scatter(x[:, :1], 1, 1, 2), x.slice_scatter(x + 1), x.slice_scatter(x, 3)[0]),
    "diagonal_scatter": lambda x: x.diagonal_scatter(x.diagonal() + 1),
    "index_fill": lambda x: x.index_fill(1, torch.tensor([0]), 1.0),
    "floor": lambda x: (x // 2, x.long() // 2, 7 // (x.long().abs() + 1)),
    "index": lambda x: (
        x[:, None, torch.tensor([0, 2, 1])],
        x[None, torch.tensor([1, 0, 1])] * 2,
        x[:1, :1, torch.tensor([[2, 0], [1, 1]])],
        x[:1, torch.tensor([0, 2]), torch.tensor([1, 3])],
        x[None, :, torch.tensor([True, False, True])],
        x[:, None, torch.tensor([0, 1]), :, torch.tensor([0, 1])],
    ),
    "unfold": lambda x: F.unfold(x, 1),
    "channel_shuffle": lambda x: (F.channel_shuffle(x, 3), F.channel_shuffle(x.movedim(2, 1), 2)),
    "resampling": lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x[0], scale_factor=2)),
    "rrelu": F.rrelu,
    "in place": lambda x: x.clone()[0].mul_(2),
}
OF_TWO = {
    "floor": lambda x, y: (x // y, x.long() // (y.long().abs() + 1), torch.div(x, y, rounding_mode="trunc")),
    "xlogy": lambda x, y: (torch.xlogy(x, y.abs()), torch.special.xlog1py(x, y.abs())),
    "logaddexp": lambda x, y: (torch.logaddexp(x, y), torch.logaddexp2(x, y)),
    "logic": lambda x, y: (torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, y)),
    "heaviside": lambda x, y: torch.heaviside(x, y),
    "ldexp": lambda x, y: torch.ldexp(x, y.int()),
    "broadcast": lambda x, y: (x // y[0], x[:1] // y, x // y[..., :1]),
    "rank 0": lambda x, y: (x // y[0, 0, 0, 0].abs(), x.int() // (y.long().abs() + 1)[0, 0, 0, 0]),
    "huber_loss": lambda x, y: (huber_loss(x, y), huber_loss(y[:1].expand_as(x), x)),
    "binary_cross_entropy": lambda x, y: (
        F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction="none"),
        F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), y.abs()),
    ),
    "sum": lambda x, y: (x + y, torch.where(x > 0, x, y), torch.maximum(x, y) * 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_one_operand(layout: str) -> None:
    if VERSION < (2, 11):  # AOTAutograd refuses what its own decomposition makes of it
        OF_ONE.pop("index_fill", None)
    compare(OF_ONE, [LAYOUTS[layout](0)], allow=["rrelu"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_two_operands(layout: str) -> None:
    for other in LAYOUTS.values():
        compare(OF_TWO, [LAYOUTS[layout](0), other(1)])


def test_gaps_of_symbolic_sizes() -> None:
    function = torch.compile(lambda x: x.slice_scatter(x[:1] + 1, 0, 1, 2), backend="tokamak", dynamic=True)
    for n in (6, 10):
        x = numbers(n, 2 * n)[:, ::2]
        expected = x.slice_scatter(x[:1] + 1, 0, 1, 2)
        assert torch.equal(function(x), expected) and function(x).stride() == expected.stride()


def test_an_argument_with_gaps_changed_in_place() -> None:
    def change(x: torch.Tensor) -> torch.Tensor:
        x[:, 1].add_(1)
        return x[0]

    ours, eager = (numbers(4, 6)[:, ::2] for _ in range(2))
    a, b = torch.compile(change, backend="tokamak")(ours), change(eager)
    assert torch.equal(ours, eager) and torch.equal(a, b) and a.stride() == b.stride()
    assert a.untyped_storage().data_ptr() == ours.untyped_storage().data_ptr()
