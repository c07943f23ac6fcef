"""The target of a load: its text, its parts, its addresses."""

import ipaddress
import re
import socket
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

from ringside.errors import UsageError
from ringside.text import one_line

# By scheme without TLS: the protocol of the load, and what carries it.
_SCHEMES = {
    "http": ("http", "http"),
    "stream+http": ("stream", "http"),
    "h2": ("http", "http2"),
    "stream+h2": ("stream", "http2"),
    "ws": ("ws", "websocket"),
    "stream+ws": ("stream", "websocket"),
    "tcp": ("tcp", "tcp"),
}
# Inside TLS.
_SECURE_SCHEMES = {f"{scheme}s": scheme for scheme in _SCHEMES if scheme != "tcp"}
_EXAMPLE = "http://127.0.0.1:8080/, stream+http://127.0.0.1:8080/feed or tcp://127.0.0.1:7000"
# The default ports of HTTP: without TLS and with TLS.
_PORTS = (80, 443)
_MAX_TARGETS = 100
# How long an address may take to answer where there are several.
_CONNECT_S = 1.0
# Between two looks whether a target accepts connections.
_PAUSE_S = 0.05
# Characters that are sent as they are in path and query (RFC 3986, and the braces of `{id}`), not as %XX.
_SAFE = "/?:@!$&'()*+,;=%-._~{}[]|"


@dataclass(frozen=True, slots=True)
class Target:
    text: str
    # `http`, `stream`, `ws` or `tcp`.
    protocol: str
    # In ASCII; an IPv6 address without its brackets.
    host: str
    port: int
    # With the query; empty for tcp.
    path: str = ""
    # Inside TLS.
    is_secure: bool = False
    # The protocol on the connection: `http`, `http2`, `websocket` or `tcp`.
    carrier: str = "http"

    @property
    def is_websocket(self) -> bool:
        return self.carrier == "websocket"

    def authority(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.is_secure] else f"{host}:{self.port}"


def parse(text: str) -> Target:
    """A target's text into its parts. Raises UsageError."""
    shown = one_line(text, 100)
    if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in text):
        raise UsageError(f"the target {shown} has white space or control characters: write them as %XX")
    scheme, separator, rest = text.partition("://")
    if not separator:
        raise UsageError(f"the target {shown} has no scheme: write it like {_EXAMPLE}")
    plain = _SECURE_SCHEMES.get(scheme.lower(), scheme.lower())
    if plain not in _SCHEMES:
        raise UsageError(f"`{one_line(scheme, 30)}` is no known scheme: write the target like {_EXAMPLE}")
    protocol, carrier = _SCHEMES[plain]
    is_secure = plain != scheme.lower()
    try:
        url = urlsplit(text)
        host, port = url.hostname or "", url.port
    except ValueError as error:
        raise UsageError(
            f"the target {shown} has a bad host or port ({one_line(str(error), 60)}): write it like "
            "http://127.0.0.1:8080/ or http://[::1]:8080/"
        ) from error
    if "@" in url.netloc:
        raise UsageError("the target holds a user's name: give --header 'Authorization: …' instead")
    if not host:
        raise UsageError(f"the target {shown} has no host: write it like {_EXAMPLE}")
    if port == 0:
        raise UsageError(f"the target {shown} has a bad port: 1 to 65535")
    host = _ipv6(host, url.netloc, shown) if "[" in url.netloc else _name(host, shown)
    # Not put together from the parts of the URL, which do not keep an empty query.
    path = rest[len(url.netloc) :]
    if protocol == "tcp":
        if path not in ("", "/"):
            raise UsageError(f"the target {shown} has a path: a tcp target is tcp://host:port, and no more")
        if port is None:
            raise UsageError(f"the target {shown} has no port: write it as tcp://host:port")
        return Target(text, protocol, host, port, carrier=carrier)
    path = quote(path.partition("#")[0], safe=_SAFE)
    path = path if path.startswith("/") else f"/{path}"
    return Target(text, protocol, host, port or _PORTS[is_secure], path, is_secure, carrier)


def _ipv6(host: str, netloc: str, shown: str) -> str:
    # %25 is how RFC 6874 writes the % before a zone.
    text = host.replace("%25", "%", 1)
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        address = None
    # urlsplit takes `[::1]8080` for an address without a port.
    if not address or not re.fullmatch(r"\[[^\[\]]+\](:[0-9]*)?", netloc):
        raise UsageError(f"the target {shown} has a bad IPv6 address: write it like http://[::1]:8080/")
    if address.is_link_local and "%" not in text:
        raise UsageError(f"the target {shown} is link-local: name the interface too, [{text}%25eth0]")
    return text


def _name(host: str, shown: str) -> str:
    try:
        ascii_host = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        ascii_host = ""
    if not re.fullmatch(r"[0-9a-z_.-]+", ascii_host):
        raise UsageError(f"the target {shown} has a host that is not possible: {one_line(host, 60)}")
    return ascii_host


def parse_several(texts: Sequence[str]) -> list[Target]:
    """Targets that take turns in a load. Raises UsageError."""
    targets = [parse(text) for text in texts]
    if len(targets) > _MAX_TARGETS:
        raise UsageError(f"{len(targets)} targets are too many: a load has up to {_MAX_TARGETS}")
    first = targets[0]
    for each in targets[1:]:
        if each.protocol != "http" or first.protocol != "http":
            raise UsageError(
                "several targets are for http://… and https://…: name one target of another kind"
            )
        if replace(each, text="", path="") != replace(first, text="", path=""):
            raise UsageError(
                f"{one_line(each.text, 100)} is not on {first.authority()}: several targets share the "
                "connections to one host and port; --vs compares two servers"
            )
    return targets


def resolve(target: Target, sources: Sequence[str] = ()) -> list[str]:
    """The target's addresses as `127.0.0.1:80` or `[::1]:80`, in the resolver's order, of the family of the
    `sources`. Raises UsageError, also for a source that is no address of this machine."""
    family, kind = socket.AF_UNSPEC, ""
    for source in sources:
        family, kind = (socket.AF_INET6, "IPv6 ") if ":" in source else (socket.AF_INET, "IPv4 ")
        try:
            with socket.socket(family) as unconnected:
                unconnected.bind((source, 0))
        except OSError as error:
            raise UsageError(f"--source {source} is no address of this machine: see `ip address`") from error
    try:
        resolved = socket.getaddrinfo(target.host, target.port, family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = one_line(getattr(error, "strerror", None) or str(error))
        raise UsageError(f"the host {one_line(target.host)} has no {kind}address: {reason}") from error
    hosts = []
    for family, _, _, _, address in resolved:
        host = str(address[0])
        if family == socket.AF_INET6:
            scope = f"%{address[3]}" if len(address) == 4 and address[3] else ""
            host = f"[{host.partition('%')[0]}{scope}]"
        hosts.append(host)
    return [f"{host}:{target.port}" for host in dict.fromkeys(hosts)]


def accepts(address: str) -> bool:
    """Whether the address (`127.0.0.1:80`, `[::1]:80`), or one of a host's, accepts a connection."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
    except OSError:
        return False
    return True


def answering(addresses: Sequence[str]) -> tuple[list[str], list[str]]:
    """The addresses that accept connections, and those that do not: `localhost` often has two, and a server
    listens on one. A single address is not tried; if none answers, all are kept."""
    kept = [address for address in addresses if accepts(address)] if len(addresses) > 1 else []
    return kept or list(addresses), [address for address in addresses if kept and address not in kept]


def wait(target: Target, limit_s: float) -> bool:
    """Wait until the target accepts connections; False at the limit. Raises UsageError if unresolved."""
    end = time.monotonic() + limit_s
    # If there are several addresses, one is enough.
    while not accepts(f"{target.host}:{target.port}"):
        if time.monotonic() >= end:
            resolve(target)
            return False
        time.sleep(_PAUSE_S)
    return True
