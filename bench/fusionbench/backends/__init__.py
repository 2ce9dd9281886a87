"""The back ends. A new one is a file of its own with a subclass of `Backend`, named here."""

from __future__ import annotations

from ..backend import Backend
from .aot_eager import AotEager
from .inductor import Inductor
from .tokamak import Tokamak

BACKENDS: dict[str, type[Backend]] = {b.name: b for b in (Backend, AotEager, Inductor, Tokamak)}
