"""The rules of contract 1 that `ringside check` tests. docs/PROTOCOL.md has the same table; a test compares
them."""

from __future__ import annotations

from dataclasses import dataclass

# By their ids, which stay the same from one version to the next.
RULES = {
    "args-bad": "for a value that it cannot use, or a required one that is missing, a program exits with "
    "status 2 and prints one line on stderr",
    "args-unknown": "a program ignores keys that it does not know",
    "lines": "every line that begins with `::` is a protocol line, and there is one `::result`",
    "flush": "every protocol line is flushed when it is written",
    "result": "a program prints `::result` with the evidence",
    "exit": "a program exits with status 0 after its `::result`",
    "evidence": "the evidence is right at every size, for every seed, on any number of cores",
    "cores": "a program uses the CPUs that it is given, and no others",
    "phases": "a program reports the phases of its workload",
    "hold": "with `hold=1`, and only then, a program prints `::await` and waits for one line on stdin",
    "repeats": "`repeats=R` does the work R times, with the phases of each, and one `::result`",
    "left-behind": "a program leaves no processes behind",
    "files": "a program leaves no files behind, neither in its folder nor in TMPDIR or shared memory",
    "ready": "a server prints `::ready port=P` when it listens on P",
    "loopback": "a server listens on 127.0.0.1 alone",
    "host": "a server whose manifest declares `host` listens on the address that it is given alone",
    "port": "a server listens on the port that it is given",
    "sigterm": "a server ends with status 0 within two seconds of SIGTERM, with connections open",
    "stdin-end": "a server ends with status 0 within two seconds of the end of its stdin",
    "quiet": "a server prints nothing for a request or a connection",
    "survives": "a server keeps running, and answers others, whatever a client does",
    "connections": "a server accepts a thousand connections at one time, or as many as its manifest says",
    "ring-trace": "with `trace=1` every unit prints a line for each message",
    "batch-input": "for an input that breaks the rules a program exits with status 2 and prints one line on "
    "stderr",
    "jobs-workers": "at most W jobs are in progress at one time, and W jobs can be",
    "jobs-beats": "a heartbeat goes on while jobs are in progress",
    "jobs-trace": "with `trace=1` a program prints a `::span` for each job",
    "sleepers-instants": "each task hands over its number at its own instant, by the probe's clock",
    "fib-errors": "a line that is no request is answered with one line that begins with `error: `, and the "
    "connection stays open",
    "fib-long-line": "a hundred bytes without a newline are answered with such a line, and the connection is "
    "closed",
    "fib-stream": "requests that arrive together, or in pieces, are answered in order",
    "http-paths": "another path gets 404, another method 405",
    "fanout-body": "the answer is 200, `text/plain`, chunked, and has what `kind` says",
    "fanout-keep-alive": "connections are kept alive",
    "fanout-overlap": "a gateway starts its three calls before it waits for any of them",
    "fanout-id": "a gateway passes the request's `X-Request-Id` to all three upstreams",
    "fanout-400": "an upstream that refuses, breaks off or takes longer than `timeout_ms` counts as 400",
    "fanout-ticks": "a gateway writes a `.` whenever `tick_ms` have passed without a write",
    "feed-messages": "a feed has the messages of its id in order, each as one chunk",
    "feed-due": "a feed sends no chunk before it is due",
    "feed-slow": "a client that does not read delays only its own feed",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a contender breaks: where, what was expected, what came, and a line for a shell that
    repeats it."""

    rule: str
    workload: str
    expected: str
    came: str
    command: str

    def __post_init__(self) -> None:
        assert self.rule in RULES, self.rule
