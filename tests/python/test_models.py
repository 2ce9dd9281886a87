"""Twelve families of models, forward and over training steps, against eager."""

import math

import pytest
import torch
from checks import TOLERANCE, VERSION
from fusionbench.model import in_double, loss_of, output_of
from fusionbench.models import MODELS, named
from tokamak import backend

TRAINED = ["resnet", "convnext", "vit", "bert", "gpt2", "t5", "llama_prefill", "wav2vec2"]
STEPS = 3


def is_as_good(name, ours, eager, exact, scale=None):
    """The largest error against float64 is no worse than eager's, or is rounding at the scale of the values."""
    assert (ours.dtype, ours.shape, ours.stride()) == (eager.dtype, eager.shape, eager.stride()), name
    a, e, x = (v.detach().double() for v in (ours, eager, exact))
    error, eagers = (a - x).abs().max(), (e - x).abs().max()
    scale = x.abs().max() if scale is None else scale
    rounding = 2 * TOLERANCE[torch.float32] * scale
    assert error <= max(1.1 * eagers, rounding), f"{name}: error {error:.2g}, eager's {eagers:.2g}, of {scale:.2g}"


def compiled(module, **options):
    return torch.compile(module, backend="tokamak", options={"fallback": "error", **options})


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_outputs_agree(model):
    module, arguments = model.make("tiny")
    with torch.no_grad(), backend.recording() as graphs:
        eager = output_of(module(**arguments))
        ours = output_of(compiled(module)(**arguments))
        frozen = output_of(compiled(module, freeze=True)(**arguments))
        module, arguments = in_double(module, arguments)
        exact = output_of(module(**arguments))
    if VERSION > (2, 10):  # which breaks at the cache of keys and values
        assert len(graphs) == 2, "Dynamo broke the graph"
    is_as_good("output", ours, eager, exact)
    is_as_good("output with frozen weights", frozen, eager, exact)


@pytest.mark.parametrize("name", ["resnet", "mobilenetv2", "vit"])
def test_errors_are_eagers_over_many_weights(name):
    """One draw of weights says little: its errors over eager's lie anywhere from a half to two."""
    module, _ = named(name).make("tiny")
    function, ratios = compiled(module), []
    for seed in range(12):
        other, arguments = named(name).make("tiny", seed=seed)
        module.load_state_dict(other.state_dict())
        with torch.no_grad():
            eager, ours = output_of(module(**arguments)), output_of(function(**arguments))
            other, arguments = in_double(other, arguments)
            exact = output_of(other(**arguments))
        ratios.append(math.log((ours - exact).norm() / (eager - exact).norm()))
    assert math.exp(sum(ratios) / len(ratios)) <= 1.1


@pytest.mark.parametrize("name", TRAINED)
def test_training_agrees(name):
    model = named(name)
    eager = trained(*model.make("tiny", train=True), lambda module: module)
    ours = trained(*model.make("tiny", train=True), compiled)
    exact = trained(*in_double(*model.make("tiny", train=True)), lambda module: module)
    assert ours.keys() == eager.keys()
    steepest = max(t.abs().max() for key, t in exact.items() if key.startswith("gradient"))
    for key in eager:  # some gradients are zero but for rounding
        is_as_good(key, ours[key], eager[key], exact[key], max(exact[key].abs().max(), steepest))


def trained(module, arguments, compile):
    """Losses and gradients of each step, and the weights and buffers after the last."""
    seen = {}
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    function = compile(module)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(function(**arguments))
        loss.backward()
        seen[f"loss {step}"] = loss.detach().clone()
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                seen[f"gradient of {name} in step {step}"] = parameter.grad.clone()
        optimizer.step()
    floating = {n: t for n, t in module.state_dict().items() if t.is_floating_point()}
    return seen | {f"{n} at the end": t.clone() for n, t in floating.items()}
