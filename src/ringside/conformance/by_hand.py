"""What the lines for a shell need besides the contender: the upstreams of a gateway, and clients that no
usual command can play. `shown` makes the commands.

    python -m ringside.conformance.by_hand upstreams HOW …    play an upstream for each HOW, for ten seconds
    python -m ringside.conformance.by_hand clients N W PORT   so many clients of workload W at one time
    python -m ringside.conformance.by_hand slow PORT          a feed that is not read until another is over
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from ringside.conformance.http import read_slowly
from ringside.conformance.kit import KINDS
from ringside.conformance.servers import answered
from ringside.conformance.shown import PORT
from ringside.conformance.upstreams import Answer, Meeting, Upstream, nothing, says, whole

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


def main(words: Sequence[str]) -> None:
    """Play what the words name."""
    what, *rest = words
    if what == "upstreams":
        play(rest)
    elif what == "clients":
        count, workload, port = rest
        print(
            f"{answered(KINDS[workload], int(port), int(count))} of {count} clients at one time got an answer"
        )
    else:
        try:
            read_slowly(int(rest[0]))
            print("both clients got all messages")
        except (OSError, ValueError) as error:
            print(f"not all messages: {error}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1:])
