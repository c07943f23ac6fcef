"""The rules of `fanout`, and the upstreams that they need, played by threads of this process.

python -m ringside.workloads.fanout.check HOW …    play an upstream for each HOW, for ten seconds
"""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType

from ringside.conformance.common import in_time, reason
from ringside.conformance.http import GRAIN_S, NONSENSE, Client, Reply, check_paths, curl
from ringside.conformance.http import RULES as HTTP_RULES
from ringside.conformance.servers import Kind, Server, running
from ringside.conformance.subject import PORT, Subject, by_hand
from ringside.measure.plain_server import free_port
from ringside.workloads.fanout.workload import sums_ns
from ringside.workloads.phases import below

RULES = {
    "fanout-body": "the answer is 200, `text/plain`, chunked, and has what `kind` says",
    "fanout-keep-alive": "connections are kept alive",
    "fanout-overlap": "a gateway starts its three calls before it waits for any of them",
    "fanout-id": "a gateway passes the request's `X-Request-Id` to all three upstreams",
    "fanout-400": "an upstream that refuses, breaks off or takes longer than `timeout_ms` counts as 400",
    "fanout-work": "with `kind=cpu` each request sums the integers one by one, three times",
    "fanout-ticks": "a gateway writes a `.` whenever `tick_ms` have passed without a write",
    **HTTP_RULES,
}
_MODULE = "ringside.workloads.fanout.check"
_SUM = 45  # of the integers below 10
# What takes so long was computed.
_WHILE_NS = 100_000_000
_ID = "one: 1/2"
_ID_HEADER = f"X-Request-Id: {_ID}"
# Writes an answer; says whether the connection goes on.
Answer = Callable[[socket.socket], bool]

# How long the first of several calls waits for the others.
_MEETING_S = 3.0


class Upstream:
    """A server that notes the head of each request and lets `answer` do the rest; with `at_accept` it does so
    before it has read anything. Serves inside `with`. `port` 0: any."""

    def __init__(self, answer: Answer, *, at_accept: bool = False, port: int = 0) -> None:
        self.heads: list[str] = []
        self._answer = answer
        self._at_accept = at_accept
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.connections: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Upstream:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as requests:
            if self._at_accept:
                self._answer(connection)
                return
            while head := read_head(requests.readline):
                self.heads.append(head)
                if not self._answer(connection):
                    return


class Meeting:
    """An answer that comes only when so many parties have a call; `was_alone` where one waited in vain."""

    def __init__(self, parties: int, answer: Answer) -> None:
        self.was_alone = False
        self._barrier = threading.Barrier(parties)
        self._answer = answer

    def __call__(self, connection: socket.socket) -> bool:
        try:
            self._barrier.wait(_MEETING_S)
        except threading.BrokenBarrierError:
            self.was_alone = True
        return self._answer(connection)


def says(text: str, after_s: float = 0.0, *, goes_on: bool = True) -> Answer:
    """These characters of Latin-1, after a while."""

    def answer(connection: socket.socket) -> bool:
        time.sleep(after_s)
        connection.sendall(text.encode("latin-1"))
        return goes_on

    return answer


def whole(status: int = 200, after_s: float = 0.0, body: str = "fine") -> Answer:
    """An answer of HTTP, of a stated length."""
    return says(f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\n\r\n{body}", after_s)


def nothing(connection: socket.socket) -> bool:
    """Reads until the client gives up."""
    while connection.recv(4096):
        pass
    return False


def read_head(readline: Callable[[], bytes]) -> str:
    """The lines of a head, without the empty one that ends it."""
    lines: list[str] = []
    while (line := readline()) not in (b"", b"\r\n"):
        lines.append(line.decode("latin-1"))
    return "".join(lines)


_PLAYS_S = 10.0


def _answer(how: str, meeting: Meeting) -> Answer | None:
    """How an upstream answers; None for one that does not listen."""
    return {
        "whole": whole(),
        "slow": whole(after_s=0.5),
        "breaks": says("HTTP/1.1 200 Said\r\nContent-Length: 100\r\n\r\nnot all", goes_on=False),
        "silent": nothing,
        "refuses": None,
        "meeting": meeting,
    }[how]


def play(ways: Sequence[str], seconds: float = _PLAYS_S) -> None:
    """Play an upstream for each of these ways, and print how it is called."""
    meeting = Meeting(len(ways), whole())
    with ExitStack() as stack:
        upstreams = [
            stack.enter_context(Upstream(answer, port=PORT + 1 + place))
            for place, how in enumerate(ways)
            if (answer := _answer(how, meeting))
        ]
        shown = [0] * len(upstreams)
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            for place, upstream in enumerate(upstreams):
                for head in upstream.heads[shown[place] :]:
                    shown[place] += 1
                    print(f"port {upstream.port} was called: {' | '.join(head.splitlines())}", flush=True)
            if meeting.was_alone:
                meeting.was_alone = False
                print("one call waited for three seconds, and no other came", flush=True)
            time.sleep(0.02)


_SUMMING = ("port=0", "cores=1", "kind=cpu", "work=10")


def _sums(connection: socket.socket) -> None:
    reply = Client(connection).get()
    if reply.body != f"{_SUM}\n" * 3:
        raise ValueError(str(reply))


def _summing(subject: Subject, server: Server) -> None:
    line = subject.served_by_hand(_SUMMING, curl("/"))
    expected = f"200, text/plain, chunked, three lines {_SUM}"
    try:
        with server.connect() as connection:
            client = Client(connection)
            reply = client.get("/?why=not")
            chunked = "chunked" in reply.headers.get("transfer-encoding", "")
            plain = reply.headers.get("content-type", "").startswith("text/plain")
            if reply.status != 200 or not (chunked and plain) or reply.body != f"{_SUM}\n" * 3:
                subject.report("fanout-body", expected, reply, line)
                return
            again = _second(client)
    except (OSError, ValueError) as error:
        subject.report("fanout-body", expected, error, line)
        return
    if again:
        line = subject.served_by_hand(_SUMMING, f"{curl('/')} http://127.0.0.1:{PORT}/")
        subject.report("fanout-keep-alive", "an answer to a second request on a connection", again, line)


def _second(client: Client) -> str:
    """What is wrong with a second request on a connection."""
    try:
        reply = client.get()
    except (OSError, ValueError) as error:
        return reason(error)
    return "" if reply.body == f"{_SUM}\n" * 3 else str(reply)


def _other_paths(subject: Subject, server: Server) -> None:
    uses = [("GET", "/other", 404), ("DELETE", "/", 405), ("GET", "/other?q", 404), ("POST", "/", 405)]
    check_paths(subject, server, _SUMMING, [*uses, ("PUT", "/other", 404)])


def _gateway(subject: Subject) -> None:
    """What a gateway does with its upstreams."""
    with ExitStack() as stack:
        meeting = Meeting(3, whole())
        three = [stack.enter_context(Upstream(meeting)) for _ in range(3)]
        arguments = _calling(three)
        reply, problem = _ask(subject, arguments, X_Request_Id=_ID)
        line = _called_by_hand(subject, ["meeting"] * 3, "io", client=curl("/", "GET", f"-H '{_ID_HEADER}'"))
        if meeting.was_alone:
            expected = "three calls under way at one time"
            subject.report("fanout-overlap", expected, "one was answered before another began", line)
            return
        if problem or reply.status != 200 or not re.fullmatch(r"\.*200\.*200\.*200", reply.body):
            subject.report("fanout-body", "200 three times, and dots", reply, line)
            return
        ids = [re.findall(r"(?im)^X-Request-Id: *(.*?)\r?$", head) for up in three for head in up.heads]
        if ids != [[_ID]] * 3:
            subject.report("fanout-id", f"{_ID_HEADER} at each upstream", ids, line)
    if subject.quick:
        return
    _failures(subject)
    _ticks(subject)
    _mixed(subject)


def _work(subject: Subject) -> None:
    """Sums of more and more integers, until the second request to a server takes a while."""
    for work in (10**6, 10**7, 10**8, 10**9):
        arguments = ("port=0", "kind=cpu", "cores=1", f"work={work}")
        try:
            with running(subject, *arguments) as server, server.connect() as connection:
                client = Client(connection)
                client.get()
                begun_ns = time.monotonic_ns()
                client.get()
        except (OSError, ValueError):
            return  # It takes longer than anybody waits.
        took_ns, least_ns = time.monotonic_ns() - begun_ns, sums_ns(work, 1)
        if took_ns < least_ns:
            line = subject.served_by_hand(arguments, f"time {curl('/')}")
            subject.report("fanout-work", f"three sums below {work:,}", below(took_ns, least_ns), line)
        if took_ns < least_ns or took_ns > _WHILE_NS:
            return


def _closed_url() -> str:
    """The URL of a port on which nothing listens."""
    return f"http://127.0.0.1:{free_port()}/"


def _called_by_hand(
    subject: Subject, upstreams: Sequence[str], kind: str, *more: str, client: str = ""
) -> str:
    """A line for a shell: the upstreams, the gateway that calls them, and a client of it. `upstreams`: how
    each answers, see `_answer`."""
    arguments = _calling(
        [f"http://127.0.0.1:{PORT + 1 + place}/" for place in range(len(upstreams))], kind, *more
    )
    return (
        f"{by_hand(_MODULE, *upstreams)} & sleep 1; {subject.served_by_hand(arguments, client or curl('/'))}"
    )


def _calling(upstreams: Sequence[Upstream | str], kind: str = "io", *more: str) -> list[str]:
    urls = (each if isinstance(each, str) else each.url for each in upstreams)
    return ["port=0", "cores=1", f"kind={kind}", "upstreams=" + ",".join(urls), *more]


def _ask(subject: Subject, arguments: Sequence[str], **headers: str) -> tuple[Reply, str]:
    """The answer of a gateway, and what is wrong with it as HTTP."""
    try:
        with running(subject, *arguments) as server, server.connect() as connection:
            return Client(connection).get(**headers), ""
    except (OSError, ValueError) as error:
        problem = reason(error)
        return Reply(0, {}, [(0.0, problem.encode())]), problem


def _failures(subject: Subject) -> None:
    """One that refuses, one that breaks off, one that never answers."""
    begun = says("HTTP/1.1 200 Said\r\nContent-Length: 100\r\n\r\nnot all", goes_on=False)
    with Upstream(begun) as broken, Upstream(nothing) as silent:
        arguments = _calling([_closed_url(), broken, silent], "io", "timeout_ms=500")
        reply, problem = _ask(subject, arguments)
    if problem or reply.body.replace(".", "") != "400400400":
        line = _called_by_hand(subject, ["refuses", "breaks", "silent"], "io", "timeout_ms=500")
        subject.report("fanout-400", "400 three times", reply, line)


def _ticks(subject: Subject) -> None:
    with Upstream(whole(after_s=0.5)) as slow:
        arguments = _calling([slow] * 3, "io", "tick_ms=100")

        def attempt() -> str:
            reply, problem = _ask(subject, arguments)
            dots = [at_s for at_s, chunk in reply.chunks for byte in chunk if byte == ord(".")]
            early = any(at_s < (index + 1) * 0.1 - GRAIN_S for index, at_s in enumerate(dots))
            return problem or ("" if 2 <= len(dots) <= 6 and not early else f"{reply}")

        if problem := in_time(attempt):
            line = _called_by_hand(subject, ["slow"] * 3, "io", "tick_ms=100")
            subject.report("fanout-ticks", "a dot each 100 ms, four of them in half a second", problem, line)


def _mixed(subject: Subject) -> None:
    with Upstream(whole()) as fine:
        arguments = _calling([fine] * 3, "mixed", "work=10")
        reply, problem = _ask(subject, arguments)
    if problem or reply.body.replace(".", "") != f"200:{_SUM}\n" * 3:
        line = _called_by_hand(subject, ["whole"] * 3, "mixed", "work=10")
        subject.report("fanout-body", f"three lines 200:{_SUM}", reply, line)


CHECKS = Kind(
    rules=RULES,
    arguments=_SUMMING,
    bad=[
        ("port=0",),
        ("port=0", "kind=fast"),
        ("port=0", "kind=io"),
        ("port=0", "kind=cpu", "work=0"),
        ("port=abc", "kind=cpu"),
        ("port=0", "kind=io", "upstreams=http://127.0.0.1:1/"),
        ("port=0", "kind=cpu", "cores=0"),
        ("port=0", "kind=cpu", "tick_ms=0"),
    ],
    points=(
        ({"kind": "io", "requests": 6, "concurrency": 3}, 1),
        ({"kind": "cpu", "requests": 20, "concurrency": 4, "work": 5000}, 2),
        ({"kind": "mixed", "requests": 6, "concurrency": 3, "work": 5000}, 3),
    ),
    answers=_sums,
    ask=curl("/"),
    nonsense=NONSENSE,
    request=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    factor="concurrency",
    checks=(_summing, _other_paths),
    further=(_gateway, _work),
)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        play(sys.argv[1:])
