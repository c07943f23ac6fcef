"""The destination of a command's output, by real pipes and files."""

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.errors import UsageError
from ringside.measure.vs.outputs import KEPT, check_output, output_to, pattern
from tests.support.cases import cases
from tests.support.processes import is_over


@pytest.mark.parametrize(("where", "path"), [(None, None), ("pipe", None), ("null", "/dev/null")])
def test_what_needs_nothing_of_this_process(tmp_path: Path, where: str | None, path: str | None) -> None:
    with output_to(where, tmp_path) as output:
        assert (output.stdout, output.stderr) == (path, None)
    assert list(tmp_path.iterdir()) == []


def test_each_execution_writes_its_file_anew(tmp_path: Path) -> None:
    for text in ("first and longer", "second"):
        with output_to("./out.txt", tmp_path) as output:
            assert (output.stdout, output.stderr) == (str(tmp_path.resolve() / "out.txt"), None)
            with open(output.stdout or "", "a", encoding="utf-8") as file:
                file.write(text)
        assert (tmp_path / "out.txt").read_text() == text


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused, output_to("./no/such", tmp_path):
        pass
    assert str(refused.value) == "--output ./no/such: No such file or directory"


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_terminal_reads_all_and_leaves_nothing(tmp_path: Path) -> None:
    before = descriptors()
    for _ in range(2):
        with output_to("tty", tmp_path) as output, open(output.stdout or "", "wb") as terminal:
            assert output.stderr is None
            assert os.get_terminal_size(terminal.fileno()) == (80, 24)
            terminal.write(b"x" * 1_000_000)
    assert descriptors() == before


def test_output_is_whole_before_the_end(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Programs of another session open the paths, as the probe does."""
    before = descriptors()
    text = bytes(range(256)) * 1000
    (tmp_path / "text").write_bytes(text)
    for _ in range(2):
        with output_to("inherit", tmp_path) as output:
            for path, end in ((output.stdout, "out"), (output.stderr, "err")):
                assert path
                script = f"{{ cat text; echo {end}; }} >{path}"
                subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True, start_new_session=True)
        # All of it is there when the execution is over.
        shown = capfdbinary.readouterr()
        assert (shown.out, shown.err) == (text + b"out\n", text + b"err\n")
    assert descriptors() == before


def test_what_was_printed_before_comes_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "shown", "w", encoding="utf-8") as shown:
        monkeypatch.setattr("sys.stdout", shown)
        print("before", end=" ")
        with output_to("inherit", tmp_path) as output:
            Path(output.stdout or "").write_text("output", encoding="utf-8")
    assert (tmp_path / "shown").read_text() == "before output"


def test_a_reader_that_went_away_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    gone = os.fdopen(write_end, "w", encoding="utf-8")
    monkeypatch.setattr("sys.stdout", gone)
    with output_to("inherit", tmp_path) as output:
        # Far more than a pipe holds: it is read to its end.
        Path(output.stdout or "").write_bytes(b"x" * 1_000_000)
    with suppress(BrokenPipeError):
        gone.close()


def test_an_output_that_failed_is_closed(tmp_path: Path) -> None:
    before = descriptors()
    with pytest.raises(KeyboardInterrupt), output_to("inherit", tmp_path):
        raise KeyboardInterrupt
    assert descriptors() == before


@pytest.mark.parametrize("where", ["null", "pipe", "inherit", "./x", "/tmp/x", "a/b"])
def test_words_and_paths(where: str) -> None:
    assert check_output(where) == where


def test_output_is_shown_as_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "shown", "w", encoding="utf-8") as shown:
        monkeypatch.setattr("sys.stdout", shown)
        with output_to("inherit", tmp_path) as output:
            Path(output.stdout or "").write_text("at once", encoding="utf-8")
            assert is_over(lambda: bool((tmp_path / "shown").read_text()), 60)
            assert (tmp_path / "shown").read_text() == "at once"


@pytest.mark.parametrize(("text", "name", "unit", "smaller", "factor"), cases(__file__, "metrics"))
def test_a_metric_as_it_is_written(text: str, name: str, unit: str, smaller: bool, factor: float) -> None:
    read = pattern(text)
    metric = read.metric
    assert (metric.name, metric.unit, metric.smaller_is_better, read.factor) == (name, unit, smaller, factor)


@pytest.mark.parametrize(("text", "why"), cases(__file__, "what_is_no_metric"))
def test_what_is_no_metric(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        pattern(text)


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.sampled_from(["", "\n", "x" * 9000])
)
def test_a_number_is_found_wherever_it_is_printed(number: float, is_grouped: bool, around: str) -> None:
    text = f"{number:,.3f}" if is_grouped else repr(number)
    with output_to(KEPT, Path()) as output:
        assert output.stdout
        Path(output.stdout).write_text(f"{around}n: {text}\n{around}", encoding="utf-8")
        found = pattern(r"n: (\S*)").found_in(output, "n: 7")
    assert found == (float(f"{number:.3f}") if is_grouped else number)
