"""The registry. A new family is a file of its own with a list `MODELS`, named here."""

from __future__ import annotations

import re

from ..model import Model
from . import audio, text, vision

MODELS: tuple[Model, ...] = (*vision.MODELS, *text.MODELS, *audio.MODELS)


def matching(pattern: str) -> list[Model]:
    """The models whose name the regular expression finds something in."""
    return [m for m in MODELS if re.search(pattern, m.name)]


def named(name: str) -> Model:
    return next(m for m in MODELS if m.name == name)
