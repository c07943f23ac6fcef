"""A run in which every attack of tests/fakes takes part beside honest programs: it ends, each attack is a
row, the honest ones lose nothing, and nothing is left behind."""

import json
import os
import random
import runpy
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringside.stats.paired import paired_ratio
from ringside.units import ratio as ratio_text
from tests.support.attacks import can_have_namespaces
from tests.support.cases import tables
from tests.support.command_line import ringside
from tests.support.fake_contenders import FAKES, Add, edit, manifest_of, write_server
from tests.support.processes import is_refused, processes_of
from tests.support.shells import HAS_MOUNTS, shell

ATTACKS = runpy.run_path(str(FAKES / "attacks.py"))

# Modes of `fake.py` itself.
MORE = ("says-nothing", "wrong-sum", "crashes", "floods", "eats-memory", "daemonises", "never-reads-stdin")
CASES = tables(__file__)
OUTCOMES: dict[str, str] = CASES["outcomes"]
REASONS, SERVERS = CASES["reasons"], CASES["servers"]
BLOCKS = 2
# For the comparison of runs with attacks and without.
HONEST, ROUNDS = 12, 12
# Two threads more than there are fakes' own; a host with one CPU has none to take.
LIMITS = "[limits]\nwall_s = 3\nprocesses = 60\nmemory_bytes = 100_000_000\n"
BUILD = '[[build]]\ncommand = ["cp", "fake.py", "attacks.py", "{build}"]\n\n[workload.ring]'


def expected(how: str) -> str:
    single = len(os.sched_getaffinity(0)) < 2
    if how in ("takes-all-cpus", "takes-all-cpus-in-a-thread") and single:
        return "ok"
    if OUTCOMES.get(how) == "probe-failed" and can_have_namespaces():
        return "ok"
    return OUTCOMES.get(how, "wrong-evidence")


def add_built(workplace: Path, add_fake: Add, name: str) -> None:
    """An honest fake that runs from its build."""
    add_fake(name)
    program = ('"fake.py", "how', '"{build}/fake.py", "how')
    edit(manifest_of(workplace, name), ("[workload.ring]", BUILD), program)


def add_attacks(workplace: Path, add_fake: Add) -> list[str]:
    """A contender for each attack, and those that attacks change. The names of the attacks."""
    hows = [*ATTACKS["BEFORE"], *ATTACKS["WORKING"], *ATTACKS["AFTER"], *MORE]
    for name in ("built", "cleared"):
        add_built(workplace, add_fake, name)
    for how in hows:
        add_fake(how, how, f"marker={workplace / 'marker'}")
    return hows


def carried_out(experiment: str, seed: int, *, small_disk: bool) -> subprocess.CompletedProcess[str]:
    words = ("run", experiment, "--until", "end", "--seed", str(seed), "--json")
    if not small_disk:
        return ringside(*words, status=1, timeout_s=600)
    mount = "mkdir small-disk && mount -t tmpfs -o size=500k none small-disk"
    return shell(f"{mount} && ringside {' '.join(words)}", mounts=True)


@pytest.mark.integration
def test_all_attacks_beside_honest_programs(
    workplace: Path, add_fake: Add, add_experiment: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = workplace.parent / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    hows = add_attacks(workplace, add_fake)
    honest = ("honest", "upright", "built", "cleared")
    add_experiment("all", *honest, "overwritten", *hows, blocks=BLOCKS, more=LIMITS)

    done = carried_out("all", random.randrange(2**31), small_disk=HAS_MOUNTS)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    cells = {cell["contender"]: cell for cell in document["cells"]}
    for name in honest:
        assert cells[name]["outcomes"] == {"ok": BLOCKS}, cells[name]
        assert cells[name]["metrics"]["hop_ns"]["median"] > 0
    first = {how: next(iter(cells[how]["outcomes"])) for how in hows}
    # A host may have too little time for a flood, or refuse the next thread before; threads take memory.
    either = ("flooded", "timed-out", "crashed", "out-of-memory")
    wrong = {
        how: outcome
        for how, outcome in first.items()
        if outcome != expected(how)
        and not (outcome in either and expected(how) in either)
        # A probe may die of limits that a program lowers.
        and not (outcome == "probe-failed" and how.startswith("lowers-the-probes-"))
    }
    assert wrong == {}
    vague = {
        how: cells[how]["reason"]
        for how, reason in REASONS.items()
        if first[how] == expected(how) and reason not in cells[how]["reason"]
    }
    assert vague == {}
    assert cells["overwritten"]["outcomes"] == {"unavailable": BLOCKS}
    assert "overwritten/fake.py" in cells["overwritten"]["reason"]
    assert "\x1b" not in done.stdout
    printed = [cells[how]["reason"] for how in hows if how.startswith("prints-")]
    assert all(reason.isprintable() and len(reason) < 500 for reason in printed)
    warnings = {each["code"]: each["text"] for each in document["warnings"]}
    interference = warnings["interference"]
    assert "terminates-the-probe (SIGTERM to the probe" in interference
    for name in ("built", "cleared"):
        assert f"{name} (its build was changed, and was built again)" in interference
    assert warnings["left-behind"]

    # Nothing is left: no process, no port, no file but what programs wrote into folders that all share.
    assert not processes_of(workplace)
    for note in ("kept-port", "ports"):
        assert all(is_refused(int(port)) for port in (workplace / note).read_text().split())
    shared = Path("/dev/shm", f"ringside-fake-{workplace.stat().st_ino}")
    is_private = can_have_namespaces()
    assert shared.exists() == (not is_private), "docs/RELIABILITY.md says that it stays without namespaces"
    shared.unlink(missing_ok=True)
    assert os.listdir(temporary) == []
    # Two files, a folder and a link.
    assert f"leaves-files ({4 + is_private})" in warnings["left-files"]
    assert "hides-memory (40.0 MiB)" in warnings["uncounted-memory"]
    for name in honest:
        assert f"{name} (" not in warnings["left-files"] + warnings["uncounted-memory"]
    known = {".ringside", "contenders", "experiments", "kept-port", "ports", "marker", "small-disk"}
    assert set(os.listdir(workplace)) == known
    assert {path.suffix for path in (workplace / ".ringside").iterdir()} <= {"", ".sqlite"}
    # The store is whole, and can be read again.
    assert json.loads(ringside("show", "--json", status=1).stdout)["cells"] == document["cells"]
    # A build that was changed after the last trial of its contender is built again by the next run.
    add_experiment("again", *honest, blocks=1)
    again = json.loads(ringside("run", "again", "--json").stdout)
    assert [cell["outcomes"] for cell in again["cells"]] == [{"ok": 1}] * len(honest)


@pytest.fixture
def foreign_port() -> Iterator[str]:
    """The port of a server that is no contender's."""
    command = [sys.executable, str(FAKES / "server.py"), "good"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip().removeprefix("::ready port=")
        process.kill()


@pytest.mark.integration
def test_hostile_servers_beside_honest_ones(workplace: Path, add_experiment: Add, foreign_port: str) -> None:
    honest = ("good", "upright")
    for name in (*honest, *SERVERS):
        write_server(workplace / "contenders" / name, name, foreign_port)
    of_load = {"workload": "fib", "factors": "seconds = 1\nclients = 2\n"}
    add_experiment("serve", *honest, *SERVERS, blocks=BLOCKS, **of_load)
    document = json.loads(ringside("run", "serve", "--until", "end", "--json", status=1).stdout)
    cells = {cell["contender"]: cell for cell in document["cells"]}
    for name in honest:
        assert cells[name]["outcomes"] == {"ok": BLOCKS}, cells[name]
        assert cells[name]["metrics"]["latency_s"]["median"] > 0
    for name, (outcome, reason) in SERVERS.items():
        assert cells[name]["outcomes"] == {outcome: BLOCKS}, cells[name]
        assert reason in cells[name]["reason"]
    assert not processes_of(workplace)


@pytest.mark.integration
def test_a_server_of_chunks_without_end(workplace: Path, add_experiment: Add) -> None:
    """It cannot hold a trial beyond its limit."""
    for name, how in (("chunks", "sends-chunks-without-end"), ("pieces", "sends-without-end")):
        write_server(workplace / "contenders" / name, how)
        edit(manifest_of(workplace, name), ("[workload.fib]", "[workload.feed]"))
    few = "connections = 2\nseconds = 1\n[limits]\nwall_s = 5\n"
    add_experiment("feed", "chunks", "pieces", workload="feed", factors=few)
    document = json.loads(ringside("run", "feed", "--json", status=1, timeout_s=120).stdout)
    outcomes = {cell["contender"]: cell["outcomes"] for cell in document["cells"]}
    assert outcomes == {"chunks": {"timed-out": 1}, "pieces": {"wrong-evidence": 1}}
    assert not processes_of(workplace)


@pytest.mark.soak
def test_attacks_do_not_change_others_figures(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    """The same honest programs in a run with all attacks and in one without, which take turns: their wall
    time, CPU time and headline are equivalent within 10 %. `pytest -s` shows the ratios."""
    dice = random.Random(11)
    honest = [f"honest-{number}" for number in range(HONEST)]
    add_experiment("quiet", *honest, more=LIMITS)
    medians: dict[str, dict[str, dict[int, float]]] = {"quiet": {}, "loud": {}}
    for number in range(ROUNDS):
        # Some of the attacks delete or change them.
        shutil.rmtree(workplace / "contenders", ignore_errors=True)
        for name in honest:
            add_fake(name, "works")
        hows = add_attacks(workplace, add_fake)
        add_experiment("loud", *honest, "built", "cleared", "overwritten", *hows, more=LIMITS)
        for kind in dice.sample(list(medians), len(medians)):
            done = ringside("run", kind, "--until", "end", "--json", status=None, timeout_s=600)
            cells = {cell["contender"]: cell for cell in json.loads(done.stdout)["cells"]}
            for metric in ("wall_s", "cpu_s", "hop_ns"):
                figures = [cells[name]["metrics"][metric]["median"] for name in honest]
                medians[kind].setdefault(metric, {})[number] = statistics.median(figures)
    loud = medians["loud"]
    ratios = {metric: paired_ratio(loud[metric], quiet) for metric, quiet in medians["quiet"].items()}
    print({metric: ratio_text(ratio) for metric, ratio in ratios.items() if ratio})
    for metric, ratio in ratios.items():
        assert ratio, metric
        assert ratio.low is not None
        assert ratio.low > 1 / 1.1, (metric, ratio)
        assert ratio.high is not None
        assert ratio.high < 1.1, (metric, ratio)
