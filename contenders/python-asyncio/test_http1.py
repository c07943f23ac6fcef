"""What is HTTP/1.1 to the little parser, and what is not."""

import http1
import pytest


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"GET /",
        b"GET  / HTTP/1.1",
        b"GET / HTTP/2",
        b"G(T / HTTP/1.1",
        b"GET /\x7f HTTP/1.1",
        b"GET / HTTP/1.1 ",
    ],
)
def test_no_requests(line):
    with pytest.raises(ValueError):
        http1.parse_request_line(line)


def test_requests():
    assert http1.parse_request_line(b"GET /a?b=c HTTP/1.0") == (b"GET", b"/a?b=c", b"HTTP/1.0")


@pytest.mark.parametrize(
    "line", [b"HTTP/1.1 20", b"HTTP/1.1 099 x", b"HTTP/1.1 +20", b"HTTP/2 200 OK", b"HTTP/1.1 200 O\0K"]
)
def test_no_answers(line):
    with pytest.raises(ValueError):
        http1.parse_status_line(line)


@pytest.mark.parametrize(
    ("line", "status"), [(b"HTTP/1.1 200 OK", 200), (b"HTTP/1.0 404", 404), (b"HTTP/1.1 103 ", 103)]
)
def test_answers(line, status):
    assert http1.parse_status_line(line) == status


@pytest.mark.parametrize("line", [b"", b"Host", b": x", b"Ho st: x", b"Host : x", b"Host: a\0", b" Host: x"])
def test_no_fields(line):
    with pytest.raises(ValueError):
        http1.parse_field(line)


def test_fields():
    assert http1.parse_field(b"X-Request-Id:\t a b \t") == (b"x-request-id", b"a b")
    assert http1.parse_field(b"A:") == (b"a", b"")


@pytest.mark.parametrize(
    "line", [b"\r\n", b"+5\r\n", b"0x5\r\n", b"1_0\r\n", b" 5\r\n", b"123456789\r\n", b"5;a\rb\r\n", b"5\n"]
)
def test_no_sizes_of_chunks(line):
    with pytest.raises(ValueError):
        http1.parse_chunk_size(line)


@pytest.mark.parametrize(("line", "size"), [(b"0\r\n", 0), (b"1fF \t;a=b\r\n", 0x1FF), (b"00000010\r\n", 16)])
def test_sizes_of_chunks(line, size):
    assert http1.parse_chunk_size(line) == size


@pytest.mark.parametrize("text", [b"", b"-1", b"+1", b"1_0", b"\xb2", b"1" * 19])
def test_no_lengths(text):
    with pytest.raises(ValueError):
        http1.parse_length(text)
