"""How ATen ops become Tokamak's: one file a family, registered by overload."""

from . import registry as registry
