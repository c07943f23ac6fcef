"""What a showdown prints, word by word, of made-up trials of a known seed: whoever changes a sentence, a
table or a verdict reads here what comes of it.
`.venv/bin/python -m tests.render.test_golden` writes it anew."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import analyse_suite
from ringside.catalogue.loader import Catalogue
from ringside.render.text import markdown, sentences
from ringside.store import Store
from tests.support import ROOT, TESTS
from tests.support.runs import experiment, make_run

FILE = TESTS / "golden" / "showdown.md"
SEED = 20070918


def analyses(folder: Path) -> list[RunAnalysis]:
    """The seven parts of the showdown, nine blocks each; of two, a contender is missing or fails."""
    store = Store(folder / "store.sqlite")
    suite = Catalogue([ROOT]).suite("showdown")
    assert suite
    found = []
    for number, name in enumerate(suite.experiments):
        part = experiment(name, blocks=9)
        missing = ("erlang",) if name == "showdown-fanout" else ()
        crashed = {"python-threads": 3} if name == "showdown-fib" else {}
        run = make_run(store, part, seed=SEED + number, unavailable=missing, crashed=crashed)
        found.append(RunAnalysis(run, store.trials(run)))
    store.close()
    return found


def text(parts: list[RunAnalysis]) -> str:
    """Tables and warnings as they are printed, then the sentences of the page."""
    lines = [markdown.render_suite(analyse_suite(parts)), "# Sentences"]
    for part in parts:
        lines.append(f"\n## {part.experiment.name}")
        for sentence in sentences.overall(part, part.headline):
            lines.append(f"- {sentence.text} ({sentence.kind})")
        for point in part.points:
            lines.append(f"\nAt {part.label(point)}:")
            lines += [
                f"- {each.text} ({each.kind})" for each in sentences.at_point(part, part.headline, point)
            ]
    # The ids of runs begin with the time.
    return re.sub(r"\b\d{8}-\d{6}-", "", "\n".join(lines) + "\n")


def test_the_showdown_reads_as_it_did(tmp_path: Path) -> None:
    made = text(analyses(tmp_path)).splitlines()
    kept = FILE.read_text(encoding="utf-8").splitlines()
    hint = "read the difference; if it is meant: .venv/bin/python -m tests.render.test_golden"
    assert made == kept, hint


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(text(analyses(Path(folder))), encoding="utf-8")
