"""The environment that measured programs get."""

from __future__ import annotations

import os
from collections.abc import Mapping


def environment(variables: Mapping[str, str] = os.environ) -> tuple[dict[str, str], list[str]]:
    """The variables whose names and values are text, and the names of the others: requests to the probe are
    UTF-8."""
    texts = {name: value for name, value in variables.items() if _is_text(name + value)}
    return texts, [name for name in variables if name not in texts]


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
