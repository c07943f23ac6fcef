"""`ringside vs`: any commands, in pairs."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from ringside.analysis import versus as result
from ringside.cli import context
from ringside.cli.run import goal
from ringside.errors import UsageError
from ringside.load import words
from ringside.measure import commands as reading
from ringside.measure import host
from ringside.measure.bout import Bout, CommandFailedError, Rules
from ringside.measure.commands import Command
from ringside.probe.local import LocalExecutor
from ringside.render import versus as show
from ringside.stats.interval import LEAST
from ringside.text import one_line

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
_TIME_S, _UNTIL = 30.0, 0.02
_MEMORY_SHARE = 0.9


def vs(
    texts: Sequence[str],
    *,
    names: Sequence[str] = (),
    prepare: Sequence[str] = (),
    warmup: int = 1,
    stdin: Path | None = None,
    blocks: int | None = None,
    until: str | None = None,
    time: str | None = None,
    timeout: str = "5m",
    shell: str | None = None,
    no_shell: bool = False,
    ignore_failure: bool = False,
    cpus: str | None = None,
    seed: int | None = None,
    form: str | None = None,
) -> int:
    """Compare commands and print what came of it. Exit status 0; 1 where a command failed, so that nothing is
    compared; 130 interrupted."""
    if blocks and (until or time):
        raise UsageError("--blocks is exact: leave out --until and --time")
    if shell and no_shell:
        raise UsageError("-N and --shell exclude each other")
    entered = reading.read(texts, names, prepare, shell)
    rules = Rules(
        blocks=blocks,
        time_s=None if blocks else words.seconds(time, "--time") if time else _TIME_S,
        # Without a goal a given time is used up.
        until=None if blocks or (time and not until) else goal(until) if until else _UNTIL,
        least=1 if time else LEAST,
        warmups=warmup,
        timeout_s=words.seconds(timeout, "--timeout"),
        memory_bytes=int(host.memory_available_bytes() * _MEMORY_SHARE),
        input=reading.readable(stdin),
        cpus=_cpus(cpus),
        ignore_failure=ignore_failure,
        seed=secrets.randbelow(2**31) if seed is None else seed,
    )
    environment = {key: value for key, value in os.environ.items() if key != "RINGSIDE_PADDING"}
    bout = Bout(entered, rules, LocalExecutor(), environment, Path.cwd())
    failed, interrupted = "", False
    with _Watch(len(entered)) as watch:
        try:
            bout.carry_out(watch)
        except CommandFailedError as error:
            failed = str(error)
        except KeyboardInterrupt:
            interrupted = True
    if failed:
        print(
            f"ringside: {failed}; nothing is compared (--ignore-failure counts it all the same)",
            file=sys.stderr,
        )
        return EXIT_FAILED
    if bout.times:
        _present(bout, form)
    if interrupted:
        print("ringside: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    return 0


def _present(bout: Bout, form: str | None) -> None:
    found = result.conclude(bout.commands, bout.times, peeked=bout.rules.until is not None)
    how = f"{found.blocks} blocks in random order, seed {bout.rules.seed}"
    if form == "json":
        facts: dict[str, Any] = {
            "seed": bout.rules.seed,
            "blocks": bout.rules.blocks,
            "until": bout.rules.until,
            "time_s": bout.rules.time_s,
            "warmups": bout.rules.warmups,
            "cpus": list(bout.rules.cpus),
            "host": host.facts(Path.cwd()),
        }
        sys.stdout.write(json.dumps(show.as_document(found, facts), indent=2, allow_nan=False) + "\n")
    elif form == "markdown":
        sys.stdout.write(show.as_markdown(found, how))
    else:
        show.show(found, how, context.out())


def _cpus(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    found, here = tuple(words.cpus(text)), os.sched_getaffinity(0)
    missing = [str(cpu) for cpu in found if cpu not in here]
    if missing:
        usable = ", ".join(map(str, sorted(here)))
        raise UsageError(f"--cpus: {', '.join(missing)} cannot be used here; there are {usable}")
    return found


class _Watch:
    """One line on a terminal that says what runs."""

    def __init__(self, commands: int) -> None:
        self._console = context.talk()
        self._commands = commands
        self._status = self._console.status("") if self._console.is_terminal else None

    def __enter__(self) -> _Watch:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def __call__(self, block: int, command: Command) -> None:
        if self._status:
            where = f"block {block}" if block else "warm-up"
            self._status.update(Text(one_line(f"{where}: {command.name} = {command.text}", 100)))
