"""Convolutions against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import FLOATS, compare, numbers


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_images(dtype: torch.dtype) -> None:
    table = {
        "plain": lambda x, w, b: F.conv2d(x, w),
        "bias": lambda x, w, b: F.conv2d(x, w, b, padding=1).relu(),
        "strided": lambda x, w, b: F.conv2d(x, w, b, 2, (1, 0), (1, 2)),
        "same": lambda x, w, b: F.conv2d(x, w, b, padding="same"),
    }
    inputs = [numbers(2, 4, 9, 7, dtype=dtype), numbers(6, 4, 3, 3, dtype=dtype), numbers(6, dtype=dtype)]
    compare(table, inputs, tolerance=1e-4 if dtype == torch.float32 else None)


@pytest.mark.parametrize("groups", [2, 4])
def test_groups(groups: int) -> None:
    compare(lambda x, w: F.conv2d(x, w, padding=1, groups=groups), [numbers(2, 4, 9, 7), numbers(8, 4 // groups, 3, 3)],
            tolerance=1e-4)  # fmt: skip


def test_one_and_three_axes() -> None:
    compare(lambda x, w, b: F.conv1d(x, w, b, 2, 1), [numbers(2, 4, 15), numbers(6, 4, 3), numbers(6)], tolerance=1e-4)
    compare(lambda x, w: F.conv3d(x, w), [numbers(1, 2, 5, 6, 7), numbers(3, 2, 3, 3, 3)], tolerance=1e-4)


def test_no_batch_and_channels_last() -> None:
    compare(lambda x, w: F.conv2d(x, w), [numbers(4, 9, 7), numbers(6, 4, 3, 3)], tolerance=1e-4)
    last = numbers(2, 4, 9, 7).to(memory_format=torch.channels_last)
    compare(lambda x, w: F.conv2d(x, w).relu(), [last, numbers(6, 4, 3, 3)], tolerance=1e-4)


def test_training() -> None:
    inputs = [numbers(2, 4, 9, 7), numbers(6, 4, 3, 3), numbers(6)]
    compare(lambda x, w, b: F.conv2d(x * 2, w, b, padding=1).relu(), inputs, grad=True, allow=["convolution_backward"],
            tolerance=1e-4)  # fmt: skip


def test_transposed_is_atens() -> None:
    compare(lambda x, w: F.conv_transpose2d(x, w, stride=2), [numbers(2, 4, 5, 7), numbers(4, 6, 3, 3)],
            allow=["aten.convolution"], tolerance=1e-4)  # fmt: skip


def test_windows_wholly_in_the_padding_are_atens() -> None:
    """Zeros of the padding times weights that are not finite are NaN there."""
    weights = numbers(6, 4, 1, 1)
    weights[1, 2] = float("inf")
    compare(
        lambda x, w: F.conv2d(x * 2, w, padding=1).relu(), [numbers(2, 4, 5, 7), weights], allow=["aten.convolution"]
    )


def test_symbolic_sizes() -> None:
    compare(lambda x, w: F.conv2d(x, w, padding=1).relu(), [numbers(3, 4, 9, 7), numbers(6, 4, 3, 3)], dynamic=True,
            tolerance=1e-4)  # fmt: skip


@pytest.mark.parametrize("channels, side, worst", [(64, 8, 1.1), (256, 14, 1.1), (64, 64, 1.5), (128, 48, 1.5)])
def test_long_sums_are_as_exact_as_eagers(channels: int, side: int, worst: float) -> None:
    """All of a result's products added one after another would be 2 to 4 times as far from float64."""
    torch.manual_seed(0)
    x, w = torch.randn(2, channels, side, side).relu(), torch.randn(8, channels, 3, 3)

    def function(x, w):
        return F.conv2d(x, w, padding=1)

    exact = function(x.double(), w.double())
    ours, eager = torch.compile(function, backend="tokamak")(x, w), function(x, w)
    assert (ours - exact).norm() <= worst * (eager - exact).norm()
