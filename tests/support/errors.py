"""What errors say."""

from collections.abc import Callable
from typing import Any

import pytest


def error_of(kind: type[Exception], action: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """What the error says that an action ends with: one line."""
    with pytest.raises(kind) as caught:
        action(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)
