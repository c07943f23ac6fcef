"""scripts/endurance.py in short: `make soak` runs it for hours."""

import dataclasses
import re
import sys
from pathlib import Path

import pytest
from scripts import endurance

from ringside.model.results import Trial
from ringside.probe.protocol import Sample
from ringside.store import Store
from tests.support import ROOT, stores
from tests.support.command_line import captured

SCRIPT = ROOT / "scripts" / "endurance.py"


def short_trial(block: int, count: int) -> Trial:
    """A trial without loads, with so many samples. Five columns of them change."""
    figures = (7_000_000, 959_000, 1_499_136, 203_776, 1)

    def sample(number: int) -> Sample:
        t_ns, cpu_ns, rss_bytes, pss_bytes, switches = (figure + number for figure in figures)
        return Sample(t_ns, None, 1, 1, cpu_ns, rss_bytes, pss_bytes, switches)

    samples = tuple(map(sample, range(count)))
    return dataclasses.replace(stores.trial(block), samples=samples, loads=(), spans=())


@pytest.mark.parametrize("samples", [3, 30, 300])
def test_a_store_has_the_size_that_its_documentation_says(tmp_path: Path, samples: int) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    run = store.begin_run("endurance", 1, {}, {}, {})
    for block in range(1, 321):
        store.add_trial(run, short_trial(block, samples))
    store.close()
    assert endurance.trials(path) == 320
    assert endurance.kept_integers(path) == 320 * 5 * samples
    assert endurance.size_of_store(path) == []
    # Additional data is noticed.
    for statement in ("UPDATE trial SET detail = hex(zeroblob(5000))", "VACUUM"):
        stores.sql(path, statement)
    (complaint,) = endurance.size_of_store(path)
    assert "bytes for 320 trials, docs/STORE.md says" in complaint


def test_the_formula_is_that_of_the_documentation() -> None:
    text = (ROOT / "docs" / "STORE.md").read_text(encoding="utf-8")
    numbers = dict(
        re.findall(
            r"^\| (the store|a trial with two marks|an integer of samples) \| ([\d,]+) \|$", text, re.M
        )
    )
    wanted = (endurance.STORE_BYTES, endurance.TRIAL_BYTES, endurance.INTEGER_BYTES)
    assert [int(number.replace(",", "")) for number in numbers.values()] == list(wanted)


def test_sixty_trials_and_seconds_of_load() -> None:
    done = captured([sys.executable, SCRIPT, "--trials", "60", "--load", "2"])
    assert done.returncode == 0, done
    assert "60 trials: nothing grew" in done.stdout
    assert "a load of 2 s: nothing grew" in done.stdout
