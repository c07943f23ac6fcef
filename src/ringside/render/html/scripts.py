"""The page's scripts, and the policy that lets only these run."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import importlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ringside.files import cache_folder, whole_file


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it stands in the page, and the hash by which the policy knows it."""

    text: Markup
    digest: str


def script(text: str) -> Script:
    """A script that cannot end its own element."""
    safe = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Script(Markup(safe), base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode())


def policy(scripts: Sequence[Script]) -> str:
    """The page's Content-Security-Policy: these scripts, without eval, and no network."""
    hashes = " ".join(f"'sha256-{each.digest}'" for each in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def packed(text: str) -> str:
    """A text as the page keeps it until it is needed: compressed, in base64. The same text gives the same."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def json_element(value: Any) -> Markup:
    """JSON that can stand inside a script element: no character of it begins a tag or a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, from vl-convert. To bundle them takes it seconds, so
    the result is kept in the user's cache, by vl-convert's version."""
    version = importlib.metadata.version("vl-convert-python")
    cached = cache_folder() / f"vega-{version}.js"
    with contextlib.suppress(OSError):
        return cached.read_text(encoding="utf-8")
    # By name, as its stub demands an argument that it does without.
    bundle: str = importlib.import_module("vl_convert").javascript_bundle()
    # Names at its top level stay its own.
    text = f"(() => {{{bundle}\n}})();"
    # A page can be made without a cache, so its errors do not count.
    with contextlib.suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(cached) as partial:
            partial.write_text(text, encoding="utf-8")
    return text
