"""What `torch.compile(model, backend="tokamak", options={...})` takes."""

from __future__ import annotations

import dataclasses
import difflib
import os
from typing import Any

import torch

MODES = {None: False, "default": False, "reduce-overhead": True}
"""What `torch.compile(mode=...)` may say, and whether it asks for CUDA graphs."""

CHOICES = {"precision": ("fp32", "eager"), "fallback": ("silent", "warn", "error")}


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of one compilation.

    precision  "fp32": fused half-precision regions keep f32 between their ops; "eager": round after every op. By
               default "eager" where gradients are taken on the CPU, since optimisers of halves magnify differences.
    freeze     take parameters and buffers as constants: weights are packed and norms folded once. A later change of a
               weight is noticed and compiled anew, but for a few elements of a large one through `.data` or numpy.
    tune       try a few neighbouring plans by measurement, about two seconds a region, and remember the fastest.
    explain    write the ledger as an HTML page to this path.
    cache      keep compiled kernels on disk.
    fallback   what to do when a region cannot be compiled: run it with ATen silently, with one warning, or raise.
    """

    precision: str | None = None
    freeze: bool = False
    tune: bool = False
    explain: str | None = None
    cache: bool = True
    fallback: str = "warn"
    capture: bool = dataclasses.field(default=False, kw_only=True)  # by mode="reduce-overhead"

    @classmethod
    def of(cls, given: dict[str, Any] | None, mode: str | None = None) -> Options:
        names = [field.name for field in dataclasses.fields(cls) if field.name != "capture"]
        if mode not in MODES:
            allowed = ", ".join(repr(m) for m in MODES if m)
            raise ValueError(f"tokamak has no mode {mode!r}. The modes are {allowed}.")
        if given is not None and not isinstance(given, dict):
            raise ValueError(f"tokamak's options are a dictionary, not {given!r}. The options are {', '.join(names)}.")
        for name in given or {}:
            if name not in names:
                close = difflib.get_close_matches(str(name), names, 1)
                hint = f"; did you mean {close[0]!r}?" if close else "."
                raise ValueError(f"tokamak has no option {name!r}{hint} The options are {', '.join(names)}.")
        options = cls(**(given or {}), capture=MODES[mode])
        options.check()
        return options

    def round_each(self, kind: str, device: torch.device) -> bool:
        """Whether halves are rounded after every op in a graph of this kind."""
        default = "eager" if kind != "inference" and device.type == "cpu" else "fp32"
        return (self.precision or default) == "eager"

    def check(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed and (name, getattr(self, name)) != ("precision", None):
                raise ValueError(
                    f"option {name!r} is one of {', '.join(map(repr, allowed))}, not {getattr(self, name)!r}"
                )
        for name in ("freeze", "tune", "cache"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"option {name!r} is True or False, not {getattr(self, name)!r}")
        if self.explain is not None and not isinstance(self.explain, (str, os.PathLike)):
            raise ValueError(f"option 'explain' is the path of an HTML file to write, not {self.explain!r}")
        if self.explain is not None and not os.path.isdir(folder := os.path.dirname(os.path.abspath(self.explain))):
            raise ValueError(f"option 'explain': there is no folder {folder!r} to write {str(self.explain)!r} to")
