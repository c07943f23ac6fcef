"""Contenders under bubblewrap (`run --sandbox`): the system is read-only, /tmp and /dev are private, no other
process is visible, and a program that is no server has a network of its own, with a loopback only."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ringside.errors import UsageError
from ringside.probe.protocol import TrialRequest

PROGRAM = "bwrap"
_HOME = "/tmp"


def check() -> None:
    """Raise UsageError where bubblewrap is not installed."""
    if not shutil.which(PROGRAM):
        raise UsageError("--sandbox needs bubblewrap: apt-get install bubblewrap")


def sandboxed(request: TrialRequest, readable: Sequence[Path]) -> TrialRequest:
    """The request with its program inside a sandbox. `readable`: what it reads; these may lie in /tmp, of
    which it has its own. The environment is the same but for HOME, which would lie in the build."""
    program = shutil.which(PROGRAM) or PROGRAM
    bound = [word for path in readable for word in ("--ro-bind", str(path), str(path))]
    # The probe drives a server over the host's loopback.
    network = [] if request.service else ["--unshare-net"]
    options = [
        *("--ro-bind", "/", "/"),
        *("--dev", "/dev"),
        *("--proc", "/proc"),
        *("--tmpfs", "/tmp"),
        *bound,
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *network,
        *("--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session"),
        *("--chdir", request.cwd),
    ]
    return msgspec.structs.replace(
        request, argv=(program, *options, "--", *request.argv), env={**request.env, "HOME": _HOME}
    )
