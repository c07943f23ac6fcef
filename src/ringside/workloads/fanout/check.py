"""Tests the rules of `fanout`, and the upstreams that they need, played by threads of this process.

python -m ringside.workloads.fanout.check HOW …    play an upstream for each HOW, for ten seconds
"""

import re
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from itertools import takewhile
from typing import Any, Self

from msgspec import Struct, convert

from ringside.conformance.common import in_time
from ringside.conformance.http import GRAIN_S, NONSENSE, Client, Reply, check_paths, curl
from ringside.conformance.servers import Kind, Server, computes_again, reset_at_close, running
from ringside.conformance.subject import PORT, Subject, by_hand
from ringside.files import tables_beside
from ringside.measure.runs.trials import free_port
from ringside.workloads.fanout.workload import sums_ns

_MODULE = "ringside.workloads.fanout.check"
_SUM = 45  # of the integers below 10
_ID = "one: 1/2"
_ID_HEADER = f"X-Request-Id: {_ID}"
# Writes an answer; says whether the connection goes on.
Behaviour = Callable[[socket.socket], bool]
# Paths in the URLs of upstreams.
_PATHS = ("", "deep/path", "a?b=c")

# Cases mostly wait.
_AT_ONE_TIME = 4
# The upstream of a meeting.
_MEETS = "meeting"
# How long the first of several calls waits for the others.
_MEETING_S = 3.0
# How long upstreams are played for a user.
_PLAYED_S = 10.0
# How often an upstream looks whether it should end.
_LOOK_S = 0.02


class Upstream(socketserver.ThreadingTCPServer):
    """Notes the head of each request, then lets `answer` work; without one it hangs up. Serves in `with`."""

    daemon_threads, block_on_close, allow_reuse_address, request_queue_size = True, False, True, 128

    def __init__(self, answer: Behaviour | None, *, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), socketserver.BaseRequestHandler)
        self.heads: list[str] = []
        self._answer = answer
        self.port: int = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._connections: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(_LOOK_S,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request: Any, client_address: object) -> None:
        self._connections.append(request)
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError), request.makefile("rb") as requests:
            if self._answer is None:
                return
            lines = iter(requests.readline, b"")
            while head := b"".join(takewhile(b"\r\n".__ne__, lines)).decode("latin-1"):
                self.heads.append(head)
                if not self._answer(request):
                    return


def goes_on(connection: socket.socket) -> bool:
    return True


def closes(connection: socket.socket) -> bool:
    return False


def reads(connection: socket.socket) -> bool:
    """Until the client gives up."""
    while connection.recv(4096):
        pass
    return False


def says(*parts: str | float, then: Behaviour = goes_on) -> Behaviour:
    """These texts, in Latin-1; a number is a pause in seconds."""

    def answer(connection: socket.socket) -> bool:
        for part in parts:
            if isinstance(part, str):
                connection.sendall(part.encode("latin-1"))
            else:
                time.sleep(part)
        return then(connection)

    return answer


def whole(status: int = 200, after_s: float = 0.0, body: str = "fine") -> Behaviour:
    """An answer of HTTP, of a stated length."""
    return says(after_s, f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\n\r\n{body}")


def meets(meeting: threading.Barrier) -> Behaviour:
    """An answer that comes once all parties have a call; a call that waits in vain breaks the barrier."""

    def answer(connection: socket.socket) -> bool:
        with suppress(threading.BrokenBarrierError):
            meeting.wait(_MEETING_S)
        return whole()(connection)

    return answer


_TABLES = tables_beside(__file__, "upstreams.toml")
_ANSWERS: Mapping[str, Behaviour | None] = {
    "hangs-up": None,
    **{
        name: says(*row["says"], then={"": goes_on, "closes": closes, "reads": reads}[row.get("then", "")])
        for name, row in _TABLES["answers"].items()
    },
    "large": whole(body="x" * 300_000),
    # Never silent for long, and never done: the time is that of the whole call.
    "dribbles": says("HTTP/1.1 200 Said\r\nContent-Length: 9000\r\n\r\n", *("x", 0.05) * 200, then=closes),
}


def _upstream(how: str, port: int = 0) -> Upstream | None:
    """An upstream that answers so; None for one that does not listen."""
    return None if how == "refuses" else Upstream(_ANSWERS[how], port=port)


def play(ways: Sequence[str]) -> None:
    """Play an upstream for each of these ways, and print how it is called."""
    meeting = threading.Barrier(len(ways))
    with ExitStack() as stack:
        upstreams = [
            stack.enter_context(upstream)
            for port, how in enumerate(ways, PORT + 1)
            if (upstream := Upstream(meets(meeting), port=port) if how == _MEETS else _upstream(how, port))
        ]
        end_s = time.monotonic() + _PLAYED_S
        while time.monotonic() < end_s:
            for upstream in upstreams:
                while upstream.heads:
                    head = " | ".join(upstream.heads.pop(0).splitlines())
                    print(f"port {upstream.port} was called: {head}", flush=True)
            if meeting.broken:
                meeting.reset()
                print("one call waited for three seconds, and no other came", flush=True)
            time.sleep(0.02)


def _sums(connection: socket.socket) -> None:
    reply = Client(connection).get()
    if reply.status != 200 or reply.body != f"{_SUM}\n" * 3:
        raise ValueError(f"{reply}")


def _summing(subject: Subject, server: Server) -> None:
    """kind=cpu on one connection: a request, one in pieces, three together, and one that asks for the end."""
    line, right = subject.served_by_hand(curl("/")), f"{_SUM}\n" * 3
    expected = f"200, text/plain, chunked, `{_SUM}\\n` three times"
    with subject.expects("fanout-body", expected, line), server.connect() as connection:
        client = Client(connection)
        reply = client.get()
        plain = reply.headers.get("content-type", "").startswith("text/plain")
        chunked = "chunked" in reply.headers.get("transfer-encoding", "")
        if reply.status != 200 or not plain or not chunked or reply.body != right:
            raise ValueError(reply)
        line = subject.served_by_hand(f"{curl('/')} http://127.0.0.1:{PORT}/")
        expected = "answers to further requests on a connection, which arrive in pieces and together"
        with subject.expects("fanout-keep-alive", expected, line):
            replies = [client.get()]
            client.send_in_pieces("/")
            replies.append(client.reply())
            for _ in range(3):
                client.send()
            replies += [client.reply() for _ in range(3)]
            replies.append(client.get(Connection="close"))
            if wrong := [reply for reply in replies if reply.body != right]:
                raise ValueError(wrong[0])
            client.end()


class _Case(Struct):
    """The answers that a gateway must give for three upstreams (`upstreams.toml`)."""

    rule: str
    upstreams: tuple[str, str, str]
    expected: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    ordered: bool = False
    least_s: float = 0.0


_CASES = convert(_TABLES["cases"], list[_Case])


def _gateway(subject: Subject) -> None:
    """How a gateway treats its upstreams."""
    if not _meets(subject) or not _passes_on(subject) or subject.quick:
        return
    with ThreadPoolExecutor(_AT_ONE_TIME) as pool:
        done = [pool.submit(in_time, partial(_case, subject, case)) for case in _CASES]
    for case, future in zip(_CASES, done, strict=True):
        line = _called_by_hand(subject, case.upstreams, *case.arguments)
        with subject.expects(case.rule, " ".join(map(repr, case.expected)), line):
            future.result()
    _ticks(subject)
    _leaving(subject)
    for kind in ("cpu", "mixed"):
        _crowd(subject, kind)


def _calling(upstreams: Sequence[str], *more: str) -> list[str]:
    kind = () if any(word.startswith("kind=") for word in more) else ("kind=io",)
    return ["port=0", "cores=1", *kind, "upstreams=" + ",".join(upstreams), *more]


def _called_by_hand(subject: Subject, upstreams: Sequence[str], *more: str, client: str = "") -> str:
    """A line for a shell: the upstreams, the gateway that calls them, and a client of it."""
    urls = [f"http://127.0.0.1:{PORT + 1 + place}/" for place in range(len(upstreams))]
    served = subject.served_by_hand(client or curl("/"), _calling(urls, *more))
    return f"{by_hand(_MODULE, *upstreams)} & sleep 1; {served}"


def _ask(subject: Subject, arguments: Sequence[str], *headers: Mapping[str, str]) -> list[Reply]:
    """A gateway's answers to requests with these headers, in turn. Raises OSError, ValueError."""
    replies = []
    with running(subject, *arguments) as server, server.connect() as connection:
        client = Client(connection)
        for each in headers or ({},):
            replies.append(client.get(**each))
            # Upstreams may close meanwhile.
            time.sleep(0.05)
    return replies


def _meets(subject: Subject) -> bool:
    """Whether three calls are under way at one time, to three servers and to one."""
    for servers in (3, 1):
        meeting = threading.Barrier(3)
        with ExitStack() as stack:
            urls = [stack.enter_context(Upstream(meets(meeting))).url for _ in range(servers)]
            line = _called_by_hand(subject, [_MEETS] * 3)
            one = subject.beside()
            with one.expects("fanout-body", "200 three times, and dots", line):
                (reply,) = _ask(subject, _calling(urls * (3 // servers)))
                if reply.status != 200 or not re.fullmatch(r"\.*200\.*200\.*200", reply.body):
                    raise ValueError(reply)
        if meeting.broken:
            expected = "three calls under way at one time"
            subject.report("fanout-overlap", expected, "one was answered before another began", line)
        else:
            subject.findings += one.findings
        if subject.findings:
            return False
    return True


def _work(subject: Subject) -> None:
    """Sums of more and more integers, until the second request to a server takes a while."""

    def twice_ns(arguments: Sequence[str]) -> int:
        with running(subject, *arguments) as server, server.connect() as connection:
            client = Client(connection)
            client.get()
            begun_ns = time.monotonic_ns()
            client.get()
            return time.monotonic_ns() - begun_ns

    for work in (10**6, 10**7, 10**8, 10**9):
        arguments = ("port=0", "kind=cpu", "cores=1", f"work={work}")
        line = subject.served_by_hand(f"time {curl('/')}", arguments)
        expected, least_ns = f"three sums below {work:,}", sums_ns(work, 1)
        if not computes_again(subject, "fanout-work", expected, line, partial(twice_ns, arguments), least_ns):
            return


def _passes_on(subject: Subject) -> bool:
    """Whether each upstream gets its own path, and the request's id where there is one."""
    with ExitStack() as stack:
        three = [stack.enter_context(Upstream(whole())) for _ in _PATHS]
        urls = [upstream.url + path for upstream, path in zip(three, _PATHS, strict=True)]
        with suppress(OSError, ValueError):
            _ask(subject, _calling(urls), {"X_Request_Id": _ID}, {}, {"x_REQUEST_id": "three"})
    expected = [
        (f"GET /{path} HTTP/1.1", f"127.0.0.1:{upstream.port}", sent)
        for upstream, path in zip(three, _PATHS, strict=True)
        for sent in ([_ID], [], ["three"])
    ]
    called = [_call(head) for upstream in three for head in upstream.heads]
    if called == expected:
        return True
    client = curl("/", "GET", f"-H '{_ID_HEADER}'")
    line = _called_by_hand(subject, [_MEETS] * 3, client=client)
    subject.report("fanout-id", f"{expected}", f"{called}", line)
    return False


def _call(head: str) -> tuple[str, str, list[str]]:
    """The first line, the host and the ids of a request."""
    fields = (rf"^{name}: *(.*?)\r?$" for name in ("Host", "X-Request-Id"))
    hosts, ids = (re.findall(field, head, re.IGNORECASE | re.MULTILINE) for field in fields)
    return head.partition("\r\n")[0], "".join(hosts), ids


def _case(subject: Subject, case: _Case) -> None:
    """Two answers of a gateway. Upstreams that answer alike are one server."""
    urls = {}
    with ExitStack() as stack:
        for how in set(case.upstreams):
            upstream = _upstream(how)
            urls[how] = stack.enter_context(upstream).url if upstream else f"http://127.0.0.1:{free_port()}/"
        arguments = _calling([urls[how] for how in case.upstreams], *case.arguments)
        replies = _ask(subject, arguments, {}, {})
    for reply in replies:
        # A status may stand alone, or with a sum and a newline.
        came = re.findall(r"[1-5][0-9]{2}(?::[0-9]+\n)?", reply.body)
        text = reply.body if case.rule == "fanout-ticks" else reply.body.replace(".", "")
        right = came == [*case.expected] if case.ordered else sorted(came) == sorted(case.expected)
        if not right or text != "".join(came):
            raise ValueError(reply)
        if reply.chunks[-1][0] < case.least_s - GRAIN_S:
            raise ValueError(f"the last after {reply.chunks[-1][0] * 1000:.0f} ms")


def _ticks(subject: Subject) -> None:
    with Upstream(_ANSWERS["slow"]) as slow:
        arguments = _calling([slow.url] * 3, "tick_ms=100")

        def attempt() -> None:
            (reply,) = _ask(subject, arguments)
            dots = [at_s for at_s, chunk in reply.chunks for byte in chunk if byte == ord(".")]
            early = any(at_s < (index + 1) * 0.1 - GRAIN_S for index, at_s in enumerate(dots))
            if not 2 <= len(dots) <= 6 or early:
                raise ValueError(reply)

        line = _called_by_hand(subject, ["slow"] * 3, "tick_ms=100")
        with subject.expects("fanout-ticks", "a dot each 100 ms, four of them in half a second", line):
            in_time(attempt)


def _leaving(subject: Subject) -> None:
    """Clients that go away in the middle of an answer or of a request, and some that never read theirs."""
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    line = _called_by_hand(subject, ["slow"] * 3, client=f"{curl('/')} -m0.1; {curl('/')}")
    with subject.expects("survives", "an answer to others after clients went away", line):
        with Upstream(_ANSWERS["slow"]) as slow, ExitStack() as stack:
            server = stack.enter_context(running(subject, *_calling([slow.url] * 3)))
            for sent in (request, request[:20], request * 40) * 6:
                stack.enter_context(server.connect()).sendall(sent)
            for is_reset in (False, True) * 6:
                connection = stack.enter_context(server.connect())
                connection.sendall(request)
                time.sleep(0.07)
                if is_reset:
                    reset_at_close(connection)
                connection.close()
            reply = Client(stack.enter_context(server.connect())).get()
        if reply.body.replace(".", "") != "200200200":
            raise ValueError(reply)


def _crowd(subject: Subject, kind: str) -> None:
    """Thirty clients at one time, on two cores."""
    words = (f"kind={kind}", "work=20000", "cores=2")
    total = f"{20_000 * 19_999 // 2}\n"
    expected = (total if kind == "cpu" else f"200:{total}") * 3
    line = _called_by_hand(subject, ["whole"] * 3, *words)
    with subject.expects("fanout-body", f"{expected!r} for each of 30 clients", line), ExitStack() as stack:
        fine = stack.enter_context(Upstream(whole(after_s=0.05)))
        server = stack.enter_context(running(subject, *_calling([fine.url] * 3, *words)))
        clients = [Client(stack.enter_context(server.connect())) for _ in range(30)]
        for client in clients:
            client.send("/")
        for client in clients:
            if (reply := client.reply()).body.replace(".", "") != expected:
                raise ValueError(reply)


CHECKS = Kind(
    _sums,
    nonsense=NONSENSE,
    request=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    checks=(_summing, check_paths),
    further=(_gateway, _work),
)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        play(sys.argv[1:])
