"""Models of the transformers library, built from their configurations with random weights: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..model import Model

CLASSES = 10


def without_dropout(config: Any) -> Any:
    """Back ends draw different random numbers, so nothing may be drawn."""
    for key, value in vars(config).items():
        if "drop" in key and isinstance(value, float | int) and not isinstance(value, bool):
            setattr(config, key, 0.0)
    if getattr(config, "apply_spec_augment", False):
        config.apply_spec_augment = False
    return config


def build(class_name: str, config_name: str, settings: dict[str, Any], part: str = "") -> torch.nn.Module:
    """`transformers.class_name(config)`, or a part of it by the name of an attribute."""
    import transformers

    config = without_dropout(getattr(transformers, config_name)(**settings))
    module = getattr(transformers, class_name)(config)
    return getattr(module, part) if part else module


def pretrained(
    name: str,
    about: str,
    classes: tuple[str, ...],
    configs: dict[str, dict[str, Any]],
    inputs: Callable[[str], dict[str, Any]],
    labels: Callable[[str], dict[str, Any]] | None = None,
) -> Model:
    """A model from the names of its class and its configuration's, and the settings of each size."""
    return Model(name, about, lambda size: build(classes[0], classes[1], configs[size], *classes[2:]), inputs, labels)


def images(**shape: tuple[int, int]) -> Callable[[str], dict[str, Any]]:
    """`images(tiny=(batch, side), ...)`"""

    def make(size: str) -> dict[str, Any]:
        batch, side = shape[size]
        return {"pixel_values": torch.randn(batch, 3, side, side)}

    return make


def tokens(vocabulary: int = 100, names: tuple[str, ...] = ("input_ids",), **shape: tuple[int, int]) -> Callable:
    """`tokens(tiny=(batch, length), ...)`"""
    return lambda size: {name: torch.randint(0, vocabulary, shape[size]) for name in names}


def numbers(name: str, **shape: tuple[int, ...]) -> Callable[[str], dict[str, Any]]:
    return lambda size: {name: torch.randn(shape[size])}


def class_labels(**batch: int) -> Callable[[str], dict[str, Any]]:
    return lambda size: {"labels": torch.randint(0, CLASSES, (batch[size],))}
