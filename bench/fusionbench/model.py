"""What a model is to the bench: something that builds a module and its inputs, in several sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

SIZES = ("tiny", "small", "full")
"""tiny: for tests, a second or two; small: milliseconds a call; full: as people use them, a fraction of a second."""


@dataclasses.dataclass(frozen=True)
class Model:
    """A model of the registry. To add one, make a `Model` in a module of `fusionbench.models` and list it there.

    build   makes the module of one size, with random weights, without dropout, so that every back end can be compared
    inputs  makes the keyword arguments of one call
    labels  makes the arguments to add for training, whose result then has a `loss`; without, the loss is the mean
            square of the output
    """

    name: str
    about: str
    build: Callable[[str], torch.nn.Module]
    inputs: Callable[[str], dict[str, Any]]
    labels: Callable[[str], dict[str, Any]] | None = None

    def make(self, size: str, train: bool = False, seed: int = 0) -> tuple[torch.nn.Module, dict[str, Any]]:
        """The module and the arguments of a call; the same for the same seed, whatever was drawn before."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module, arguments = self.build(size).train(train), self.inputs(size)
            settle(module, arguments)
            if train and self.labels is not None:
                arguments |= self.labels(size)
        return module, arguments


def settle(module: torch.nn.Module, arguments: dict[str, Any]) -> None:
    """Gives batch norms the statistics of the inputs; with those they start with, random weights fade to nothing."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    momenta, training = [m.momentum for m in norms], module.training
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        module.train()(**arguments)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    module.train(training)


def output_of(result: Any) -> torch.Tensor:
    """The tensor by which results are compared: the logits, or else the first."""
    if isinstance(result, Mapping) and "logits" in result:
        return result["logits"]
    return result if isinstance(result, torch.Tensor) else result[0]


def loss_of(result: Any) -> torch.Tensor:
    if isinstance(result, Mapping) and "loss" in result:
        return result["loss"]
    return output_of(result).square().mean()


def in_double(module: torch.nn.Module, arguments: dict[str, Any]) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The same computation in float64. The module itself is changed."""

    def widen(x: Any) -> Any:
        return x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x

    return module.double(), torch.utils._pytree.tree_map(widen, arguments)
