"""Language models: encoders, decoders, and one step of decoding with a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..model import Model
from .pretrained import CLASSES, build, class_labels, pretrained, tokens

LLAMA = {
    "tiny": dict(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=100,
    ),
    "small": dict(
        hidden_size=256, intermediate_size=704, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2,
        vocab_size=2000,
    ),
    "full": dict(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=4, num_attention_heads=16, num_key_value_heads=4,
        vocab_size=8000,
    ),
}  # fmt: skip
GPT2 = {"use_cache": False, "bos_token_id": 0, "eos_token_id": 0, "loss_type": "ForCausalLMLoss"}
PAST = {"tiny": 7, "small": 128, "full": 128}
"""Tokens in the cache when one is decoded."""


class DecodeStep(torch.nn.Module):
    """One token through a decoder, given the keys and values of those before: (logits, keys and values anew)."""

    def __init__(self, decoder: torch.nn.Module):
        super().__init__()
        self.decoder = decoder

    def forward(self, input_ids: torch.Tensor, past: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[Any, ...]:
        from transformers import DynamicCache

        out = self.decoder(input_ids=input_ids, past_key_values=DynamicCache(past), use_cache=True)
        return out.logits, *((layer.keys, layer.values) for layer in out.past_key_values.layers)


def decode_inputs(size: str) -> dict[str, Any]:
    c = LLAMA[size]
    shape = (1, c["num_key_value_heads"], PAST[size], c["hidden_size"] // c["num_attention_heads"])
    past = [(torch.randn(shape), torch.randn(shape)) for _ in range(c["num_hidden_layers"])]
    return {"input_ids": torch.randint(0, 100, (1, 1)), "past": past}


def next_tokens(**shape: tuple[int, int]) -> Callable[[str], dict[str, Any]]:
    return lambda size: {"labels": torch.randint(0, 100, shape[size])}


MODELS = [
    pretrained(
        "bert",
        "an encoder with layer norm after each block",
        ("BertForSequenceClassification", "BertConfig"),
        {
            "tiny": dict(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=64,
                vocab_size=100,
                max_position_embeddings=64,
                num_labels=CLASSES,
            ),
            "small": dict(
                hidden_size=256,
                num_hidden_layers=4,
                num_attention_heads=4,
                intermediate_size=1024,
                vocab_size=2000,
                num_labels=CLASSES,
            ),
            "full": dict(num_hidden_layers=6, num_labels=CLASSES),
        },
        tokens(tiny=(2, 16), small=(2, 64), full=(4, 128)),
        class_labels(tiny=2, small=2, full=4),
    ),
    pretrained(
        "gpt2",
        "a decoder with layer norm before each block, tanh GELU",
        ("GPT2LMHeadModel", "GPT2Config"),
        {
            "tiny": dict(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64, **GPT2),
            "small": dict(n_embd=256, n_layer=4, n_head=4, vocab_size=2000, **GPT2),
            "full": dict(n_layer=6, **GPT2),
        },
        tokens(tiny=(2, 16), small=(1, 128), full=(1, 256)),
        next_tokens(tiny=(2, 16), small=(1, 128), full=(1, 256)),
    ),
    pretrained(
        "t5",
        "encoder and decoder, relative positions, RMS norm",
        ("T5ForConditionalGeneration", "T5Config"),
        {
            "tiny": dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100, use_cache=False),
            "small": dict(d_model=256, d_ff=1024, num_layers=3, num_heads=4, vocab_size=2000, use_cache=False),
            "full": dict(use_cache=False),
        },
        tokens(names=("input_ids", "decoder_input_ids"), tiny=(2, 16), small=(2, 64), full=(4, 128)),
        next_tokens(tiny=(2, 16), small=(2, 64), full=(4, 128)),
    ),
    pretrained(
        "llama_prefill",
        "rotary positions, grouped queries, RMS norm, SwiGLU",
        ("LlamaForCausalLM", "LlamaConfig"),
        {size: dict(use_cache=False, **config) for size, config in LLAMA.items()},
        tokens(tiny=(2, 16), small=(1, 64), full=(1, 128)),
        next_tokens(tiny=(2, 16), small=(1, 64), full=(1, 128)),
    ),
    Model(
        "llama_decode",
        "one token with a cache of keys and values: products of one row",
        lambda size: DecodeStep(build("LlamaForCausalLM", "LlamaConfig", LLAMA[size])),
        decode_inputs,
    ),
]
