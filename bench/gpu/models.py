"""Times whole models on a GPU under eager PyTorch and back ends of torch.compile, calls in turn.

    python bench/gpu/models.py [--models REGEX] [--backends inductor,tokamak] [--graphs] [--json OUT]

Random weights in bf16, inference; a call's time is the host's clock over a few calls and the wait for the last of
them, so it holds what the host needs for launching. `--graphs` compiles with mode="reduce-overhead" as well. The first
line says what one call of a compiled function of one kernel costs the host, beside a back end that returns a ready
tensor.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import time
from collections.abc import Callable

import torch

VISION = (
    "alexnet vgg16 resnet18 resnet50 densenet121 squeezenet1_1 mobilenet_v2 mobilenet_v3_large efficientnet_b0 "
    "convnext_tiny vit_b_16 swin_t regnet_y_400mf shufflenet_v2_x1_0"
).split()
TEXT = "bert_base gpt2 t5_small llama4".split()
SPEECH = "whisper_tiny wav2vec2_base".split()


def vision(name: str) -> tuple[torch.nn.Module, tuple]:
    import torchvision

    model = torchvision.models.get_model(name).to("cuda", torch.bfloat16).eval()
    images = torch.randn(16, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
    return model.to(memory_format=torch.channels_last), (images.to(memory_format=torch.channels_last),)


def pretrained(name: str) -> tuple[torch.nn.Module, tuple]:
    import transformers as t

    def tokens(batch: int, length: int) -> torch.Tensor:
        return torch.randint(0, 30000, (batch, length), device="cuda")

    def sound(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    llama = t.LlamaConfig(
        vocab_size=32000,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=4,
        num_attention_heads=16,
        use_cache=False,
    )
    make = {
        "bert_base": lambda: (t.BertModel(t.BertConfig()), tokens(16, 128)),
        "gpt2": lambda: (t.GPT2LMHeadModel(t.GPT2Config(use_cache=False)), tokens(8, 256)),
        "t5_small": lambda: (t.T5EncoderModel(t.T5Config(d_model=512, num_layers=6)), tokens(16, 128)),
        "llama4": lambda: (
            t.LlamaForCausalLM(llama),
            tokens(8, 256),
        ),
        "whisper_tiny": lambda: (t.WhisperModel(t.WhisperConfig()).encoder, sound(8, 80, 3000)),
        "wav2vec2_base": lambda: (t.Wav2Vec2Model(t.Wav2Vec2Config()), sound(8, 16000)),
    }
    model, data = make[name]()
    return model.to("cuda", torch.bfloat16).eval(), (data,)


def tensors(result) -> list[torch.Tensor]:
    return [x for x in torch.utils._pytree.tree_leaves(result) if isinstance(x, torch.Tensor)]


def in_turn(calls: dict[str, Callable], rounds: int, each: int) -> dict[str, float]:
    """Milliseconds a call, medians."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(each):
                call()
            torch.cuda.synchronize()
            seconds[name].append((time.perf_counter() - begin) / each)
    return {name: statistics.median(s) * 1e3 for name, s in seconds.items()}


def compiled(backend, function, graphs: bool = False):
    """By `reduce-overhead` where graphs are wanted."""
    return torch.compile(function, backend=backend, **({"mode": "reduce-overhead"} if graphs else {}))


def peak(call: Callable) -> float:
    """Megabytes beyond what is there before."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


def measure(name: str, backends: list[str], graphs: bool) -> dict:
    torch._dynamo.reset()
    model, inputs = vision(name) if name in VISION else pretrained(name)
    with torch.no_grad():
        expected = tensors(model(*inputs))
        calls: dict[str, Callable] = {"eager": lambda: model(*inputs)}
        row: dict = {"model": name, "compile_s": {}, "peak_mb": {}, "far": {}}
        for backend in backends:
            for form in (False, True) if graphs else (False,):
                label = backend + (" graphs" if form else "")
                begin = time.perf_counter()
                function = compiled(backend, model, form)
                got = tensors(function(*inputs))
                row["compile_s"][label] = time.perf_counter() - begin
                scale = max(float(e.float().abs().max()) for e in expected) or 1.0
                pairs = zip(got, expected, strict=True)
                row["far"][label] = max(float((g.float() - e.float()).abs().max()) for g, e in pairs) / scale
                del got
                calls[label] = lambda function=function: function(*inputs)
                for _ in range(3):
                    calls[label]()
        for label, call in calls.items():
            if "graphs" not in label:
                row["peak_mb"][label] = peak(call)
        row["ms"] = in_turn(calls, rounds=9, each=5)
    return row


def ready(module, _inputs):
    """A back end whose functions return one tensor again and again: what Dynamo costs by itself."""
    result = torch.empty(64, 768, device="cuda", dtype=torch.bfloat16)
    return lambda *args: (result,)


def host_cost(backends: list[str]) -> dict[str, float]:
    """Microseconds of the host a call, few calls at a time so that none waits for the device."""

    def function(x):
        return torch.tanh(x) * 2 + 1

    x = torch.randn(64, 768, device="cuda", dtype=torch.bfloat16)
    calls = {"eager": function, "ready tensor": compiled(ready, function)}
    calls |= {backend: compiled(backend, function) for backend in backends}
    costs: dict[str, list[float]] = {name: [] for name in calls}
    with torch.no_grad():
        for _ in range(200):
            for name, call in calls.items():
                begin = time.perf_counter()
                for _ in range(16):
                    call(x)
                costs[name].append((time.perf_counter() - begin) / 16 * 1e6)
                torch.cuda.synchronize()
    return {name: statistics.median(values[20:]) for name, values in costs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", help="those whose names match")
    parser.add_argument("--backends", default="inductor,tokamak")
    parser.add_argument("--graphs", action="store_true", help='with mode="reduce-overhead" too')
    parser.add_argument("--json", help="where to write all numbers")
    options = parser.parse_args()
    backends = options.backends.split(",")
    host = host_cost(backends)
    print("host, us a call: " + ", ".join(f"{name} {us:.1f}" for name, us in host.items()), flush=True)
    rows, better = [], []
    for name in VISION + TEXT + SPEECH:
        if not re.search(options.models, name):
            continue
        try:
            row = measure(name, backends, options.graphs)
        except Exception as failure:  # a row, not the end
            rows.append({"model": name, "failure": repr(failure)})
            print(f"{name:20s} failed: {failure!r:.300}", flush=True)
            continue
        finally:
            torch.cuda.empty_cache()
        rows.append(row)
        ms = row["ms"]
        print(f"{name:20s} " + "  ".join(f"{k} {v:.3f}" for k, v in ms.items()), end="  ")
        print("peak MB " + " ".join(f"{v:.0f}" for v in row["peak_mb"].values()), end="  ")
        print("far " + " ".join(f"{v:.1e}" for v in row["far"].values()), flush=True)
        if "tokamak" in ms and len(ms) > 2:
            better.append(min(v for k, v in ms.items() if k in ("eager", "inductor")) / ms["tokamak"])
    if better:
        mean = math.exp(sum(map(math.log, better)) / len(better))
        print(f"tokamak against the better of eager and Inductor: {mean:.2f}, lowest {min(better):.2f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"host_us": host, "models": rows}, file, indent=1)


if __name__ == "__main__":
    main()
