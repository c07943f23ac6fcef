"""What a load is driven at: the target's text, its parts, its addresses."""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from ringside.errors import UsageError
from ringside.text import one_line

_PROTOCOLS = {"http": "http", "stream+http": "stream", "tcp": "tcp"}
_EXAMPLE = "http://127.0.0.1:8080/, stream+http://127.0.0.1:8080/feed or tcp://127.0.0.1:7000"
_HTTP_PORT = 80
# How long an address may take to answer where there are several.
_KNOCK_S = 1.0
# What stands for itself in path and query (RFC 3986, and the braces of `{id}`); all else is sent as %XX.
_SAFE = "/?:@!$&'()*+,;=%-._~{}[]|"


@dataclass(frozen=True, slots=True)
class Target:
    """`protocol` is `http`, `stream` or `tcp`; `path` has the query, and is empty for tcp. `host` is
    ASCII, an IPv6 address without its brackets."""

    text: str
    protocol: str
    host: str
    port: int
    path: str = ""

    def authority(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host
        return host if self.port == _HTTP_PORT else f"{host}:{self.port}"


def parse(text: str) -> Target:
    """A target's text into its parts. Raises UsageError."""
    shown = one_line(text, 100)
    if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in text):
        raise UsageError(f"the target {shown} has white space or control characters: write them as %XX")
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator:
        raise UsageError(f"the target {shown} has no scheme: write it like {_EXAMPLE}")
    if scheme in ("https", "stream+https"):
        raise UsageError(f"{scheme} is not spoken: give the server's plain port, as http://host:port/")
    if scheme not in _PROTOCOLS:
        raise UsageError(f"`{one_line(scheme, 30)}` is no known scheme: write the target like {_EXAMPLE}")
    protocol = _PROTOCOLS[scheme]
    authority, path = _split(rest)
    if "@" in authority:
        raise UsageError("the target holds a user's name: give --header 'Authorization: …' instead")
    host, port_text = _host_and_port(authority, shown)
    if protocol == "tcp":
        if path not in ("", "/"):
            raise UsageError(f"the target {shown} has a path: a tcp target is tcp://host:port, and no more")
        if not port_text:
            raise UsageError(f"the target {shown} has no port: write it as tcp://host:port")
        return Target(text, protocol, host, _port(port_text, shown))
    port = _port(port_text, shown) if port_text else _HTTP_PORT
    path = quote(path.partition("#")[0], safe=_SAFE)
    return Target(text, protocol, host, port, path if path.startswith("/") else f"/{path}")


def _split(rest: str) -> tuple[str, str]:
    match = re.search(r"[/?#]", rest)
    return (rest, "") if match is None else (rest[: match.start()], rest[match.start() :])


def _host_and_port(authority: str, shown: str) -> tuple[str, str]:
    if authority.startswith("["):
        inner, bracket, after = authority[1:].partition("]")
        # %25 is how RFC 6874 writes the % before a zone.
        host = inner.replace("%25", "%", 1)
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            bracket = ""
        if not bracket or not (after == "" or after.startswith(":")):
            raise UsageError(f"the target {shown} has a bad IPv6 address: write it like http://[::1]:8080/")
        return host, after[1:]
    host, _, port = authority.partition(":")
    if ":" in port:
        raise UsageError(f"the target {shown} has too many colons: write IPv6 like http://[::1]:8080/")
    if not host:
        raise UsageError(f"the target {shown} has no host: write it like {_EXAMPLE}")
    try:
        ascii_host = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        ascii_host = ""
    if not re.fullmatch(r"[0-9a-z_.-]+", ascii_host):
        raise UsageError(f"the target {shown} has a host that can be none: {one_line(host, 60)}")
    return ascii_host, port


def _port(text: str, shown: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise UsageError(f"the target {shown} has a bad port: 1 to 65535")
    return int(text)


def resolve(target: Target) -> list[str]:
    """The target's addresses as `127.0.0.1:80` or `[::1]:80`, in the resolver's order. Raises UsageError."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the host {one_line(target.host)} has no address: {one_line(reason)}") from error
    addresses = []
    for family, _, _, _, address in found:
        if family == socket.AF_INET6:
            scope = address[3] if len(address) == 4 else 0
            host = str(address[0]).partition("%")[0]
            addresses.append(f"[{host}%{scope}]:{target.port}" if scope else f"[{host}]:{target.port}")
        elif family == socket.AF_INET:
            addresses.append(f"{address[0]!s}:{target.port}")
    if not addresses:
        raise UsageError(f"the host {one_line(target.host)} has no IPv4 or IPv6 address")
    return list(dict.fromkeys(addresses))


def answering(
    addresses: Sequence[str], knock: Callable[[str], bool] | None = None
) -> tuple[list[str], list[str]]:
    """The addresses that accept a connection, and those that do not. Connections take addresses in turn,
    and `localhost` often has one that nobody listens on: half of the load would fail. A single address is
    not tried, and where none answers all are kept, so that the load itself says what is wrong."""
    if len(addresses) < 2:
        return list(addresses), []
    try_it = knock or _knock
    kept = [address for address in addresses if try_it(address)]
    if not kept:
        return list(addresses), []
    return kept, [address for address in addresses if address not in kept]


def _knock(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()
    except OSError:
        return False
    return True
