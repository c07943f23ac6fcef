"""Files of contenders that change during a run, and in whose trial that was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.measure.toolchain import Toolchain
from ringside.measure.watch import FileWatch
from ringside.model.catalogue import Ready


def test_a_change_belongs_to_the_trial_in_which_it_was_made(
    workplace: Path, add_fake: Callable[..., None]
) -> None:
    """Though trials follow each other faster than the clock of files ticks."""
    catalogue, toolchain = Catalogue([workplace]), Toolchain(workplace / "builds")
    contenders = {}
    for name in ("changed", "one", "two"):
        add_fake(name)
        ready = toolchain.prepare(catalogue.contender(name))
        assert isinstance(ready, Ready)
        contenders[name] = ready
    file = contenders["changed"].contender.folder / "fake.py"
    watch = FileWatch(contenders.values())
    for count in range(10):
        culprit, other = ("one", "two")[:: 1 if count % 2 else -1]
        with watch.trial(contenders[culprit]):
            file.write_text(f"# {count}\n", encoding="utf-8")
        with watch.trial(contenders[other]):
            pass
        reason = watch.changed_sources(contenders["changed"])
        assert reason is not None
        assert reason.endswith(f"changed/fake.py during the trial of `{culprit}`")
