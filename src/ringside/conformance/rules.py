"""The rules of contract 1 that `ringside check` tests. docs/PROTOCOL.md has the same table; a test compares
them."""

from __future__ import annotations

from dataclasses import dataclass

# The rules that are no single workload's, by their ids, which stay the same from one version to the next.
# `check.py` of a workload has its own.
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
    "phases": "a program reports the phases of its workload, each when it ends",
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
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a contender breaks: where, what was expected, what came, and a line for a shell that
    repeats it. `meaning`: the rule, in a sentence."""

    rule: str
    meaning: str
    workload: str
    expected: str
    came: str
    command: str
