"""`ringside setup`: installs what can be installed and builds contenders."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from ringside.cli import context
from ringside.measure.toolchain import packages
from ringside.model.catalogue import Contender, Unavailable
from ringside.text import one_line

_TRIES = 3
_PAUSE_S = 5.0


def setup(names: Sequence[str]) -> int:
    """Install what can be installed and build the contenders; exit status 1 where some cannot run."""
    contenders = context.contenders(names)
    toolchain = context.toolchain()
    _install([one for one in contenders if isinstance(toolchain.receipt(one.runtime), str)])
    toolchain = context.toolchain()  # receipts anew
    left = []
    for one in contenders:
        _say(f"preparing {one.name}")
        found = toolchain.prepare(one)
        if isinstance(found, Unavailable):
            left.append(found)
    for found in left:
        _say(f"{found.contender.name} is not available: {found.reason}")
        for line in found.log.rstrip().splitlines()[-15:]:
            _say(f"  | {line}")
        _say(f"  {found.remedy}")
    return 1 if left else 0


def _install(contenders: Sequence[Contender]) -> None:
    wanted = sorted({name for one in contenders for name in packages(one.runtime)})
    if not wanted:
        return
    if os.geteuid() != 0:
        _say(f"missing runtimes; get them with: sudo apt-get install -y {' '.join(wanted)}")
        return
    _say(f"installing runtimes on this system with apt-get: {' '.join(wanted)}")
    retry(lambda: _apt("update", "-qq"))
    for name in wanted:  # one by one: a package that this system lacks must not keep the others out
        if not retry(partial(_apt, "install", "-y", "-qq", "--no-install-recommends", name)):
            _say(f"{name} could not be installed")


def _apt(*words: str) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", *words], stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, check=False
    )
    return done.returncode == 0


def retry(action: Callable[[], bool]) -> bool:
    """Try up to three times, with pauses: networks fail now and then."""
    for attempt in range(_TRIES):
        if action():
            return True
        if attempt + 1 < _TRIES:
            time.sleep(_PAUSE_S)
    return False


def _say(text: str) -> None:
    print(f"setup: {one_line(text)}", file=sys.stderr)
