"""The feed of a site's runs, as Atom (RFC 4287) and JSON Feed 1.1."""

from __future__ import annotations

import json
import uuid
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringside.text import one_line

_ATOM = "http://www.w3.org/2005/Atom"
_MAX_ENTRIES = 50
_MAX_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Entry:
    """A run as an entry. `path`: that of its page in the site; times in ISO 8601."""

    run: str
    title: str
    updated: str
    summary: str
    path: str

    @property
    def id(self) -> str:
        """The same wherever the site lies."""
        return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'ringside:run:{self.run}')}"


def atom(title: str, entries: Sequence[Entry], base: str) -> bytes:
    """The latest entries, which come first. `base`: the address of the site, with its last slash; empty where
    it is not known."""
    ElementTree.register_namespace("", _ATOM)
    feed = ElementTree.Element(f"{{{_ATOM}}}feed")
    latest = entries[0].updated if entries else "1970-01-01T00:00:00+00:00"

    def add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> ElementTree.Element:
        element = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
        element.text = one_line(text, _MAX_LENGTH) or None
        return element

    add(feed, "title", title)
    add(feed, "id", f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'ringside:site:{base or title}')}")
    add(feed, "updated", latest)
    add(add(feed, "author"), "name", "Ringside")
    add(feed, "link", rel="self", href=f"{base}feed.atom")
    add(feed, "link", href=f"{base}index.html")
    for each in entries[:_MAX_ENTRIES]:
        entry = add(feed, "entry")
        add(entry, "id", each.id)
        add(entry, "title", each.title)
        add(entry, "updated", each.updated)
        add(entry, "link", href=f"{base}{each.path}")
        add(entry, "summary", each.summary)
    text: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def json_feed(title: str, entries: Sequence[Entry], base: str) -> bytes:
    """The same as JSON."""
    values: dict[str, Any] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": one_line(title, _MAX_LENGTH),
        **({"home_page_url": base, "feed_url": f"{base}feed.json"} if base else {}),
        "items": [
            {
                "id": each.id,
                "url": f"{base}{each.path}",
                "title": one_line(each.title, _MAX_LENGTH),
                "content_text": one_line(each.summary, _MAX_LENGTH),
                "date_published": each.updated,
            }
            for each in entries[:_MAX_ENTRIES]
        ],
    }
    return (json.dumps(values, indent=1) + "\n").encode()
