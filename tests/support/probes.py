"""Probes that misbehave, and requests for them."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ringside.probe.process import Probe
from ringside.probe.protocol import VERSION, Limits, LoadPlan, LoadRequest, TrialRequest
from tests.support.processes import is_over

TRIAL = TrialRequest(argv=("true",), cwd="/", env={}, limits=Limits(0.1, 1, 1, 1))
LOAD = LoadRequest(LoadPlan("http", duration_s=0.1, timeout_s=0.1))
STARTED = '{"type":"started","version":1}'
OUTCOME = '{"type":"outcome","outcome":"ok"}'
INTERRUPTED = '{"type":"outcome","outcome":"interrupted"}'
# The shell's `say FILE` prints a file of messages, each outcome with the request's own number.
_NUMBER = r"""number=${request##*'"number":"'}; number=${number%%'"'*}
case $request in *'"number":"'*) ;; *) number= ;; esac
say() { sed 's/"type":"outcome"/"type":"outcome","number":"'"$number"'"/' "$1"; }"""
# A contender: a process of its own session, whose id comes into the file `contender`.
STARTS_CONTENDER = """setsid sh -c 'echo $$ > contender; exec sleep 1000' </dev/null >/dev/null 2>&1 &
while [ ! -s contender ]; do sleep 0.02; done
echo '{"type":"started","version":1,"pid":'$(cat contender)'}'
"""


def script(folder: Path, body: str) -> str:
    """The path of a probe that takes a request in `folder` and then does what `body`, for a shell, says."""
    path = folder / "probe"
    version = f'[ "$1" = --version ] && exec echo ringside-probe 0 protocol {VERSION}\n'
    reads = f"cd '{folder}' && read -r request\n{_NUMBER}\n"
    path.write_text(f"#!/bin/sh\n{version}{reads}{body}", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def printing(folder: Path, *lines: str, then: str = "") -> Probe:
    """A probe that prints these lines, then does what `then` says."""
    (folder / "lines").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Probe(script(folder, f"say lines\n{then}"))


def contender_is_alive(folder: Path) -> bool:
    """Whether the process of `STARTS_CONTENDER` still runs, soon after."""
    pid = int((folder / "contender").read_text())

    def is_gone() -> bool:
        with suppress(OSError, IndexError):
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
        return True

    return not is_over(is_gone, 5)


def when(is_time: Callable[[], bool], *signals: signal.Signals, apart_s: float = 0.3) -> threading.Thread:
    """Send these signals to this process, as Ctrl-C would, once `is_time`."""

    def send() -> None:
        is_over(is_time, 60)
        for number in signals:
            time.sleep(apart_s)
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    return thread
