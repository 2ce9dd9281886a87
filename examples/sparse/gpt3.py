"""A decoder block of GPT-3 with BigBird attention: tokens attend to blocks of others that a mask stores."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Heads that attend where the mask, tokens by tokens, is true."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, M: torch.Tensor) -> torch.Tensor:
        tokens, width = x.shape
        q, k, v = (
            layer(x).view(tokens, self.heads, width // self.heads).transpose(0, 1)
            for layer in (self.query, self.key, self.value)
        )
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=M)
        return self.out(attended.transpose(0, 1).reshape(tokens, width))


class DecoderBlock(nn.Module):
    """Layer norm and attention, layer norm and two layers with GELU, each added to what came in."""

    def __init__(self, width: int = 768, heads: int = 12, hidden: int = 3072):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor, M: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), M)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def bigbird_mask(tokens: int, block: int, seed: int = 0) -> torch.Tensor:
    """BigBird's pattern in blocks, causal: neighbours, the first block for all, and one block at random a row."""
    count = tokens // block
    chosen = torch.Generator().manual_seed(seed)
    blocks = torch.zeros(count, count, dtype=torch.bool)
    for row in range(count):
        blocks[row, max(row - 1, 0) : row + 1] = True
        blocks[row, 0] = True
        blocks[row, int(torch.randint(row + 1, (), generator=chosen))] = True
    whole = torch.kron(blocks, torch.ones(block, block)).bool()
    return whole & torch.ones(tokens, tokens).tril().bool()
