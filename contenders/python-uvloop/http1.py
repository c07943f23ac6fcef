"""The little of HTTP/1.1 that the gateway and the feed need: the standard library has none for asyncio. What
is not HTTP is a ValueError."""

from string import ascii_letters, digits, hexdigits

MOST_HEAD_BYTES = 16 * 1024  # the limit of a reader's buffer
PIECE_BYTES = 64 * 1024

TOKEN = (ascii_letters + digits + "!#$%&'*+-.^_`|~").encode()
VISIBLE = bytes(range(ord("!"), ord("~") + 1))
HEX_DIGITS = hexdigits.encode()
NO_TEXT = b"\r\n\0"  # what ends a line, or is refused in one


async def read_head(reader):
    """The first line of a request or an answer, and the fields by their names in lower case."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].split(b"\r\n")
    return first, dict(map(parse_field, lines))


def parse_field(line):
    name, colon, value = line.partition(b":")
    if not colon or not is_made_of(TOKEN, name) or has_any_of(NO_TEXT, value):
        raise ValueError(f"this is no field: {line!r}")
    return name.lower(), value.strip(b" \t")


def parse_request_line(line):
    """The method, the target and the version, which is b"HTTP/1.0" or b"HTTP/1.1"."""
    method, target, version = line.split(b" ")
    if not is_made_of(TOKEN, method) or not is_made_of(VISIBLE, target) or not is_http1(version):
        raise ValueError(f"this is no request: {line!r}")
    return method, target, version


def parse_status_line(line):
    version, _, status = line.partition(b" ")
    code, _, reason = status.partition(b" ")
    is_status = len(code) == 3 and code.isdigit() and code >= b"100"
    if not is_http1(version) or not is_status or has_any_of(NO_TEXT, reason):
        raise ValueError(f"this is no answer: {line!r}")
    return int(code)


def is_http1(version):
    return version in (b"HTTP/1.1", b"HTTP/1.0")


async def skip_body(reader, fields, length):
    """Reads a body and forgets it. `length` is that of a body of which the head says nothing;
    None: until the connection ends."""
    if b"transfer-encoding" in fields:
        if fields[b"transfer-encoding"].lower() != b"chunked":
            raise ValueError("no other coding was asked for")
        while size := parse_chunk_size(await reader.readuntil(b"\n")):
            await skip(reader, size)
            if await reader.readexactly(2) != b"\r\n":
                raise ValueError("a chunk is longer than it said")
        while await reader.readuntil(b"\n") != b"\r\n":
            pass
        return
    if b"content-length" in fields:
        length = parse_length(fields[b"content-length"])
    if length is not None:
        await skip(reader, length)
    else:
        while await reader.read(PIECE_BYTES):
            pass


async def skip(reader, length):
    while length:
        piece = await reader.read(min(length, PIECE_BYTES))
        if not piece:
            raise EOFError("the body is shorter than it said")
        length -= len(piece)


def parse_chunk_size(line):
    text, _, extension = line.removesuffix(b"\r\n").partition(b";")
    size = text.rstrip(b" \t")
    # int() alone would take +5, 0x5 and 1_0.
    if not is_made_of(HEX_DIGITS, size) or len(size) > 8 or has_any_of(b"\r\n", extension):
        raise ValueError(f"this is no size of a chunk: {line!r}")
    return int(size, 16)


def parse_length(text):
    if not text.isdigit() or len(text) > 18:
        raise ValueError(f"this is no length: {text!r}")
    return int(text)


def is_made_of(bytes_, text):
    """Whether there is a text, and nothing but these bytes in it."""
    return text != b"" and not text.translate(None, bytes_)


def has_any_of(bytes_, text):
    return len(text.translate(None, bytes_)) < len(text)


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)
