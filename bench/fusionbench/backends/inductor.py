"""torch's own compiler."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from typing import Any

import torch

from ..backend import Backend

CALL = re.compile(r"^ +(?:\w+ = )?(?:extern_kernels\.\w+|torch\.ops\.[\w.]+|aten\.[\w.]+)\(", re.MULTILINE)
"""A line of the generated wrapper that calls a library or an ATen op."""


class Inductor(Backend):
    name = "inductor"
    about = "torch.compile(model): C++ by the system's compiler"
    caches = True

    @staticmethod
    def environment(folder: str) -> dict[str, str]:
        return {"TORCHINDUCTOR_CACHE_DIR": folder}

    def compile(self, module: torch.nn.Module) -> Callable[..., Any]:
        from torch._inductor import compile_fx, config, metrics

        metrics.reset()
        compile_fx.inductor_metrics_log.setLevel(logging.INFO)  # then it counts bytes
        compile_fx.inductor_metrics_log.propagate = False
        config.freezing = self.settings.freeze and not self.settings.train
        return torch.compile(module, backend="inductor")

    def facts(self, call: Callable[[], Any]) -> dict[str, Any]:
        """Bytes are known only to the process that compiled with empty caches."""
        from torch._inductor import metrics
        from torch._inductor.codecache import PyCodeCache

        sources = []
        for module in PyCodeCache.modules:
            with open(module.__file__, encoding="utf-8") as file:
                sources.append(file.read())
        out = {"kernels": metrics.generated_kernel_count, "calls": sum(len(CALL.findall(s)) for s in sources)}
        return out | ({"bytes_moved": metrics.num_bytes_accessed} if metrics.num_bytes_accessed else {})

    def slowest(self, module: torch.nn.Module, call: Callable[[Callable[..., Any]], Any]) -> dict[str, Any] | None:
        """Inductor keeps no ledger; torch's profiler knows of calls, and what no call accounts for is its kernels."""
        function = self.compile(module)
        call(function)
        os.environ["KINETO_LOG_LEVEL"] = "99"  # the profiler would write that it begins and ends
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            call(function)
        events = [e for e in profile.key_averages() if e.key.startswith(("aten::", "mkl", "mkldnn"))]
        top = max(events, key=lambda e: e.self_cpu_time_total, default=None)
        if top is None:
            return None
        text = f"{top.key}, {top.count} calls"
        return {"step": text, "us": top.self_cpu_time_total, "why": "Inductor tells no reasons"}
