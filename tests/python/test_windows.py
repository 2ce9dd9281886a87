"""Pooling and resampling against eager, forward and backward."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from checks import FLOATS, compare, numbers

AVERAGES = {
    "plain": lambda x: F.avg_pool2d(x, 2),
    "overlapping": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "inside only": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "ceil": lambda x: F.avg_pool2d(x, (2, 3), (2, 2), (1, 0), ceil_mode=True),
    "ceil inside": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "ceil, one window": lambda x: F.avg_pool2d(x, 4096, ceil_mode=True),  # the image is all that it costs
    "ceil, one padded": lambda x: F.avg_pool2d(x, (30, 5), padding=(2, 1), ceil_mode=True),
    "ceil, one inside": lambda x: F.avg_pool2d(x, 30, padding=1, ceil_mode=True, count_include_pad=False),
    "divisor": lambda x: F.avg_pool2d(x, 3, 1, 1, divisor_override=5),
    "gaps": lambda x: F.avg_pool2d(x, 2, 3),
}
MAXIMA = {
    "plain": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "overlapping": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "dilated": lambda x: F.max_pool2d(x, (3, 2), 1, dilation=(2, 3), return_indices=True),
    "ceil": lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True, return_indices=True),
    "ceil, one window": lambda x: F.max_pool2d(x, (4096, 5), padding=2, ceil_mode=True, return_indices=True),
}
ADAPTIVE = {
    "average": lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (9, 2)), F.adaptive_avg_pool2d(x, 4)),
    "maximum": lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
}
RESAMPLED = {
    "nearest": lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 7))),
    "exact": lambda x: F.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "corners": lambda x: F.interpolate(x, (13, 5), mode="bilinear", align_corners=True),
    "shuffled": lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 3),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_images(dtype: torch.dtype) -> None:
    compare(AVERAGES | MAXIMA | ADAPTIVE, [numbers(2, 4, 9, 12, dtype=dtype)])


def test_special_values_and_layouts() -> None:
    compare(AVERAGES | MAXIMA, [numbers(2, 4, 9, 12, special=True)])
    compare(MAXIMA | ADAPTIVE, [numbers(2, 4, 9, 12).to(memory_format=torch.channels_last)])
    compare(MAXIMA, [numbers(4, 9, 12)])


def test_gradients() -> None:
    compare(AVERAGES, [numbers(2, 4, 9, 12)], grad=True)
    first = {k: (lambda x, f=f: f(x)[0]) for k, f in MAXIMA.items()}
    compare(first, [numbers(2, 4, 9, 12)], grad=True)
    compare(ADAPTIVE, [numbers(2, 4, 9, 12)], grad=True, allow=["_adaptive_avg_pool2d_backward"])


def test_one_and_three_axes() -> None:
    one = {"avg": lambda x: F.avg_pool1d(x, 3, 2, 1), "max": lambda x: F.max_pool1d(x, 3, 2)}
    compare(one, [numbers(2, 3, 11)], grad=True)
    three = {
        "avg": lambda x: F.avg_pool3d(x, 3, 2, 1),
        "max": lambda x: F.max_pool3d(x, 2),
        "adaptive": lambda x: F.adaptive_avg_pool3d(x, 2),
    }
    compare(three, [numbers(1, 2, 6, 8, 4)], grad=True)


def test_resampling() -> None:
    compare(RESAMPLED, [numbers(2, 36, 6, 6)], grad=True)


def test_symbolic_sizes() -> None:
    table = {"max": lambda x: F.max_pool2d(x, 3, 2, 1), "avg": lambda x: F.avg_pool2d(x, 3, 2, 1)}
    compare(table, [numbers(2, 4, 9, 12)], dynamic=True)
