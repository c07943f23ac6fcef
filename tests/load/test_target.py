"""Targets of a load: their parts, their addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.errors import UsageError
from ringside.load import target
from ringside.text import one_line
from tests.support.cases import cases
from tests.support.errors import error_of


@pytest.mark.parametrize(("text", "protocol", "host", "port", "path", "authority"), cases(__file__, "parts"))
def test_parts(text: str, protocol: str, host: str, port: int, path: str, authority: str) -> None:
    parsed = target.parse(text)
    assert (parsed.protocol, parsed.host, parsed.port, parsed.path) == (protocol, host, port, path)
    assert parsed.authority() == authority
    scheme = text.partition("://")[0]
    assert parsed.is_secure is scheme.endswith(("https", "wss"))
    assert parsed.is_websocket is scheme.endswith(("ws", "wss"))


@pytest.mark.parametrize(("text", "message"), cases(__file__, "bad_targets"))
def test_bad_targets(text: str, message: str) -> None:
    assert message in error_of(UsageError, target.parse, text)


@given(st.text(max_size=60), st.sampled_from(["", "http://", "tcp://", "stream+http://", "http://["]))
def test_any_text_is_a_target_or_one_line(text: str, scheme: str) -> None:
    parsed, complaint = None, ""
    try:
        parsed = target.parse(scheme + text)
    except UsageError as error:
        complaint = str(error)
    assert one_line(complaint, 10_000) == complaint
    if parsed:
        assert 1 <= parsed.port <= 65535
        assert all("!" <= character <= "~" for character in parsed.path + parsed.authority())


def test_addresses() -> None:
    assert target.resolve(target.parse("http://127.0.0.1:81/")) == ["127.0.0.1:81"]
    assert target.resolve(target.parse("tcp://[::1]:81")) == ["[::1]:81"]
    assert "127.0.0.1:81" in target.resolve(target.parse("http://localhost:81/"))
    assert "has no address" in error_of(UsageError, target.resolve, target.parse("http://nobody.invalid/"))


def test_addresses_where_nobody_listens_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["[::1]:1", "127.0.0.1:1"]
    monkeypatch.setattr(target, "accepts", lambda address: address[0] != "[")
    assert target.answering(both) == (["127.0.0.1:1"], ["[::1]:1"])
    assert target.answering(["[::1]:1"]) == (["[::1]:1"], [])
    monkeypatch.setattr(target, "accepts", lambda _: False)
    assert target.answering(both) == (both, [])
