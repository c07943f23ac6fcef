"""The inputs of `scripts/fuzz_readers.py` for each reader: valid texts, changed at random. A reader may
refuse its input with its documented error, and do nothing else."""

import copy
import io
import json
import lzma
import math
import random
import shutil
import sqlite3
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from ringside.analysis.run import analysis_of
from ringside.analysis.run_diff import diff
from ringside.catalogue.contenders import read_contender
from ringside.catalogue.experiments import read_experiment, read_published, read_suite
from ringside.cli import context
from ringside.errors import CatalogueError, ProbeError, RingsideError, StoreError, UsageError
from ringside.measure.runs import plan
from ringside.measure.runs.trials import trial_from_messages
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.probe import protocol
from ringside.probe.protocol import engine_message, trial_message
from ringside.render.export import documents, formats
from ringside.render.export.formats import TEXT_FORMATS
from ringside.render.site import site
from ringside.render.text import markdown, terminal
from ringside.store import Store, record
from ringside.store.connection import FORMAT
from ringside.workloads import workload as find_workload
from tests.support import ROOT
from tests.support.runs import experiment, make_run

# Values that readers of JSON and TOML tend to forget.
ODD: tuple[Any, ...] = (
    *(None, True, False, "", [], {}, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.5),
    *(1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, "x", "\x1b[2J", "\0", "é", "\ud800", "a" * 3000),
    *(["x"], {"x": 1}, [[]], [1, "x"], "1", "ok", "NaN", "{runtime}", "{}", "../..", "5%", "10s"),
)
_FRAGMENTS = (*"\n\"'=[]{}#,.\0\\\ufeffé", "[[", "[x]\n", "")


# --- changes ---------------------------------------------------------------------------------------


def changed_value(dice: random.Random, value: Any) -> Any:
    """A copy of a JSON value in which one to three places are changed."""
    changed = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        changed = _change_one(dice, changed)
    return changed


def _change_one(dice: random.Random, root: Any) -> Any:
    """Change a place of the value: descend from the top, and stop more likely where it is deep."""
    holder: dict[str, Any] = {"": root}
    places: Any = holder
    key: Any = ""
    while True:
        value = places[key]
        if not isinstance(value, dict | list) or not value or dice.random() < 0.15:
            break
        places = value
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
    change = dice.randrange(6)
    if change == 0 and places is not holder:
        del places[key]
    elif change == 1 and isinstance(places, list):
        places.insert(key, places[key])
    elif change == 2 and isinstance(places, dict) and places is not holder:
        places[dice.choice(("x", "", "type", "version", str(key).upper()))] = places.pop(key)
    elif change == 3 and isinstance(places[key], int | float) and not isinstance(places[key], bool):
        places[key] = dice.choice((-places[key], places[key] * 10**12, places[key] / 3, str(places[key])))
    else:
        places[key] = copy.deepcopy(dice.choice(ODD))
    return holder[""]


def changed_text(dice: random.Random, text: str) -> str:
    """A text with lines left out, moved or doubled, and pieces replaced."""
    for _ in range(dice.randint(1, 4)):
        place, lines = dice.randint(0, len(text)), text.split("\n")
        if dice.random() < 0.5:
            line = lines.pop(dice.randrange(len(lines)))
            for _ in range(dice.randrange(3)):
                lines.insert(dice.randint(0, len(lines)), line)
            text = "\n".join(lines)
        else:
            piece = dice.choice((*_FRAGMENTS, str(dice.choice(ODD))))
            text = text[:place] + piece + text[place + dice.choice((0, 0, 1, 8)) :]
    return text


def changed_bytes(dice: random.Random, data: bytes) -> bytes:
    """Bytes with some of them overwritten, left out, moved or cut off."""
    changed = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(changed) or 1)
        length = min(dice.choice((1, 1, 2, 4, 16, 600)), len(changed) - at)
        change = dice.randrange(8)
        if change < 4:
            changed[at : at + length] = dice.randbytes(length)
        elif change == 4:
            changed[at : at + length] = bytes(length)
        elif change == 5:
            del changed[at : at + length]
        elif change == 6:
            other = dice.randrange(len(changed) or 1)
            changed[at : at + length] = changed[other : other + length]
        elif dice.random() < 0.2:
            del changed[at:]
    return bytes(changed)


def _toml(value: Any) -> str:
    """A value as TOML, as far as TOML has it."""
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case float():
            return repr(value)
        case None:
            return '"none"'
        case _:
            return json.dumps(value)


# --- readers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reader:
    """`make` returns the next input; `read` takes it, in a folder of its own; `refusals`: what it may
    raise."""

    make: Callable[[random.Random], bytes]
    read: Callable[[bytes, Path], None]
    refusals: tuple[type[Exception], ...]


def _text_or_table(dice: random.Random, sources: Mapping[str, str]) -> bytes:
    """A changed file: its path, a NUL, its text."""
    path, source = dice.choice([*sources.items()])
    if dice.random() < 0.5:
        return f"{path}\0{changed_text(dice, source)}".encode(errors="surrogatepass")
    # Dates and times of TOML are none of JSON.
    table = json.loads(json.dumps(tomllib.loads(source), default=str))
    changed = changed_value(dice, table)
    items = changed.items() if isinstance(changed, dict) else [("title", changed)]
    text = "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in items)
    return f"{path}\0{text}".encode(errors="surrogatepass")


def _catalogue_reader(pattern: str, read: Callable[[Path], object]) -> Reader:
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(pattern))
    }

    def read_file(data: bytes, folder: Path) -> None:
        name, _, text = data.partition(b"\0")
        path = folder / name.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        read(path)

    return Reader(lambda dice: _text_or_table(dice, sources), read_file, (CatalogueError,))


def manifests() -> Reader:
    """contender.toml"""
    return _catalogue_reader("contenders/*/contender.toml", read_contender)


def published() -> Reader:
    """Figures and claims of a source."""
    names = context.catalogue().contender_names()
    return _catalogue_reader("published/*.toml", lambda path: read_published(path, names))


def experiments() -> Reader:
    """Experiments and suites, and the points that they make."""

    def read(path: Path) -> None:
        if read_suite(path) is None:
            of = read_experiment(path)
            plan.points(of, find_workload(of.workload), 4)

    reader = _catalogue_reader("experiments/*.toml", read)
    return Reader(reader.make, reader.read, (RingsideError,))


_TRIAL_MESSAGES: list[Any] = [
    protocol.Started(1, pid=7, missing=("psi",), cgroup="/sys/fs/cgroup/x"),
    protocol.ServiceReady(5, port=40123),
    protocol.Phase(6, "relay", 12),
    protocol.Span(3, 5, 9),
    protocol.Sample(8, "spawned", pss_bytes=9, cpu_by_thread=((5, 6),)),
    protocol.LoadMessage(
        step="s", name="n", histograms={"latency": protocol.LatencySummary(count=1, p50_ns=2)}
    ),
    protocol.TrialOutcome(
        "ok", wall_ns=5, result={"a": "1"}, cpus=(protocol.CpuUse(1, busy_ns=7, idle_ns=2),)
    ),
]
_ENGINE_MESSAGES: list[Any] = [
    protocol.LoadProgress(5, 6, 7, 0, 1, 1, buckets=((0.5, 1),)),
    protocol.Histogram("latency", ((5, 6),)),
    protocol.LoadOutcome(outcome="ok"),
]


def _messages(messages: list[Any], decode: Callable[[bytes], Any]) -> tuple[Any, Any]:
    values = [json.loads(msgspec.json.encode(message)) for message in messages]

    def make(dice: random.Random) -> bytes:
        value = dice.choice(values)
        if dice.random() < 0.3:
            return changed_bytes(dice, json.dumps(value).encode())
        return json.dumps(changed_value(dice, value), ensure_ascii=dice.random() < 0.5).encode(
            errors="surrogatepass"
        )

    return make, decode


def messages_of_a_trial() -> Reader:
    """A line of the probe's, made a trial, kept and read again."""
    make, decode = _messages(_TRIAL_MESSAGES, trial_message)
    store = Store(None)
    blank = Trial(1, 0, Cell("a", experiment_point()), Outcome.OK, "")

    def read(data: bytes, _: Path) -> None:
        message = decode(data)
        ends = () if isinstance(message, protocol.TrialOutcome) else (protocol.TrialOutcome("ok"),)
        trial = trial_from_messages(blank, [message, *ends])
        run = store.begin_run("e", 1, {}, {}, {})
        store.add_trial(run, trial)
        (again,) = store.trials(run, samples=True)
        assert again.report == trial.report
        assert again.phases == trial.phases

    return Reader(make, read, (ValueError, ProbeError))


def messages_of_a_load() -> Reader:
    """A line of the engine's."""
    make, decode = _messages(_ENGINE_MESSAGES, engine_message)
    return Reader(make, lambda data, _: decode(data), (ValueError,))


def experiment_point() -> Any:
    """A point of the ring's."""
    of = experiment()
    return plan.points(of, find_workload(of.workload), 4)[0]


@contextmanager
def _small_store(path: str | Path | None) -> Iterator[Store]:
    store = Store(path)
    factors = {"nodes": (10, 20), "messages": 5}
    make_run(store, experiment(contenders=("erlang", "go", "limit"), factors=factors, blocks=3), samples=20)
    try:
        yield store
    finally:
        store.close()


def read_everything(store: Store) -> None:
    """Everything that reading commands make of a store: its runs, analyses, tables, documents, exports."""
    for run in store.runs():
        analysis = analysis_of(store, run)
        json.loads(documents.as_json(documents.document(analysis)))
        formats.as_csv(analysis).encode()
        markdown.render(analysis).encode()
        for render in TEXT_FORMATS.values():
            # Some have no place for such a run.
            with suppress(UsageError):
                json.loads(render(analysis))
        terminal.show(analysis, Console(file=io.StringIO(), width=90))
        site.render_page([analysis_of(store, run)])
        site.data_files(analysis)
        other = analysis_of(store, run)
        other.run = replace(other.run, id=f"{run.id}-again")
        diff(analysis, other)


_JSON_COLUMNS = (
    *(("run", "plan"), ("run", "host"), ("trial", "outcome_line"), ("trial", "point"), ("trial", "phases")),
    *(("trial", "marks"), ("trial", "cpus"), ("timeline", "samples")),
)


def _by_run(path: Path) -> list[dict[str, Any]]:
    """A record as one of each of its runs, with their first two blocks."""
    tables = json.loads(lzma.decompress(path.read_bytes()))["tables"]
    parts = []
    for run in tables["run"]:
        trials = [row for row in tables["trial"] if row["run_id"] == run["id"] and row["block"] <= 2]
        ids = {row["id"] for row in trials}
        timeline = [row for row in tables["timeline"] if row["trial_id"] in ids]
        part = {"run": [run], "source": [], "trial": trials, "timeline": timeline}
        parts.append({"record": FORMAT, "tables": part})
    return parts


def records(folder: Path) -> Reader:
    """Runs as one file, from the bytes to the exports: a small one, and one of each problem."""
    with _small_store(None) as store:
        small = json.loads(json.dumps({"record": FORMAT, "tables": store.rows_of(store.runs())}))
    packed = lzma.compress(json.dumps(small).encode())
    real = _by_run(ROOT / "records" / "today.json.xz")

    def make(dice: random.Random) -> bytes:
        if dice.random() < 0.1:
            return changed_bytes(dice, packed)
        tables = small if dice.random() < 0.8 else dice.choice(real)
        document = changed_value(dice, tables) if dice.random() < 0.3 else copy.deepcopy(tables)
        rows = document.get("tables", {}) if isinstance(document, dict) else {}
        # Columns that hold JSON themselves.
        for table, column in dice.sample(_JSON_COLUMNS, 1):
            try:
                row = dice.choice(rows[table])
                if dice.random() < 0.9:
                    row[column] = json.dumps(changed_value(dice, json.loads(row[column])))
            except (LookupError, TypeError, ValueError):
                continue
        return lzma.compress(json.dumps(document).encode(errors="surrogatepass"), preset=0)

    def read(data: bytes, folder: Path) -> None:
        path = folder / f"kept{record.SUFFIX}"
        path.write_bytes(data)
        with closing(record.read(path)) as store:
            read_everything(store)

    return Reader(make, read, (RingsideError,))


def stores(folder: Path) -> Reader:
    """The database's file."""
    path = folder / "whole.sqlite"
    with _small_store(path) as store:
        run = store.run()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    whole = path.read_bytes()

    def make(dice: random.Random) -> bytes:
        return changed_bytes(dice, whole)

    def read(data: bytes, place: Path) -> None:
        shutil.rmtree(place)
        place.mkdir()
        broken = place / "s.sqlite"
        broken.write_bytes(data)
        try:
            with closing(Store(broken, create=False)) as store:
                read_everything(store)
        except RingsideError:
            pass
        broken.write_bytes(data)
        with closing(Store(broken)) as store:
            store.add_trial(run, Trial(9, 0, Cell("a", experiment_point()), Outcome.OK, ""))

    return Reader(make, read, (StoreError, RingsideError))


def all_readers(folder: Path) -> dict[str, Reader]:
    """Each reader by name. `folder`: where they keep what they start from."""
    return {
        "messages of a trial": messages_of_a_trial(),
        "messages of a load": messages_of_a_load(),
        "manifests": manifests(),
        "experiments": experiments(),
        "published figures": published(),
        "records": records(folder),
        "stores": stores(folder),
    }


def accepts(reader: Reader, data: bytes, folder: Path) -> bool:
    """Whether the reader took an input; False where it refused it as it should. Other errors pass
    through."""
    try:
        reader.read(data, folder)
    except reader.refusals as error:
        if not str(error):
            raise AssertionError("a refusal without a reason") from error
        return False
    return True
