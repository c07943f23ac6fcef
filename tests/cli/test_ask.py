"""`ringside ask`, from the command line to what it prints."""

import re
from pathlib import Path

import pytest

from ringside.cli import context
from ringside.store import Store
from tests.support.command_line import in_process, parsed
from tests.support.runs import experiment, make_run


@pytest.fixture
def store(workplace: Path) -> str:
    path = workplace / "store.sqlite"
    names = ("erlang", "go", "stackless-greenlet", "python-asyncio", "limit")
    storage = Store(path)
    make_run(storage, experiment("questions-message", contenders=names, blocks=7))
    storage.close()
    return str(path)


def test_families_beside_their_programs(store: str) -> None:
    ended = in_process("ask", "messages", "--store", store, COLUMNS="200")
    assert "What does a message cost?" in ended.stdout
    assert "erlang (actors) is first" in ended.stdout
    assert "channels" in ended.stdout
    assert "Does not hold for:" in ended.stdout
    # Only what concerns messages.
    assert "Who delays whom?" not in ended.stdout


def test_as_a_document_and_as_markdown(store: str) -> None:
    document = parsed("ask", "messages", "--store", store)
    (question,) = document["questions"]
    assert question["name"] == "message"
    figure = question["figures"][0]
    assert figure["point"]["mode"] == "token"
    assert {each["family"] for each in figure["families"]} >= {"actors", "channels"}
    assert figure["families"][0]["contenders"][0].keys() == {"contender", "median", "low", "high", "n"}
    marked = in_process("ask", "messages", "--store", store, "--markdown").stdout
    assert marked.startswith("## What does a message cost?\n")
    assert "| family |" in marked


def test_what_was_not_measured_has_its_command(store: str) -> None:
    ended = in_process("ask", "cores", "--store", store)
    assert "No run answers it." in ended.stdout
    assert "not measured here: questions-cores, questions-sharing; " in ended.stderr
    assert f"`ringside run questions --store {store}` measures it" in ended.stderr
    # Without any run those of the record that comes with Ringside.
    ended = in_process("ask", "connections", "messages")
    assert re.search(
        r"figures of .*questions.json.xz \(`ringside run questions` measures here\)", ended.stderr
    )
    assert re.search(r"^node .* 17\.2 KiB \*", ended.stdout, re.MULTILINE)
    assert "measured 2026-11-26 on AMD EPYC" in ended.stdout
    unknown = in_process("ask", "colour", status=2).stderr
    assert unknown.startswith("ringside: no question concerns `colour`; known: messages, ")


def test_every_part_of_the_suite_answers_a_question() -> None:
    catalogue = context.catalogue()
    suite = catalogue.suite("questions")
    asked = {figure.experiment for each in catalogue.questions() for figure in each.figures}
    assert asked == set(suite.experiments)


def test_the_page_begins_with_the_questions(store: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    in_process("report", "--store", store, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert text.index('id="question-message"') < text.index('class="answers') < text.index('id="run-1"')
    section = text[text.index('id="question-message"') :]
    assert section[: section.index("</section>")].count('class="dots"') == 3


def test_a_question_is_asked_by_its_name(store: str) -> None:
    by_name = in_process("ask", "sharing", "--store", store)
    assert by_name == in_process("ask", "state", "--store", store)
    assert in_process("ask", "nonsense", "--store", store, status=2)
