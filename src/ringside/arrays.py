"""numpy, imported when it is first used: it takes as long to import as most commands take."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _FirstUse:
        def __getattr__(self, name: str) -> Any:
            return self.__dict__.setdefault(name, getattr(importlib.import_module("numpy"), name))

    np = _FirstUse()

__all__ = ["np"]
