"""Workloads of other distributions: how they are looked up, and one that is run from the experiment to the
report."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.workloads import GROUP, Registry
from ringside.workloads.base import Workload
from ringside.workloads.ring.workload import RING
from tests.support import ROOT
from tests.support.cases import cases
from tests.support.command_line import RINGSIDE, captured
from tests.support.errors import error_of
from tests.support.fake_contenders import PYTHON

SOURCE = ROOT / "src"
# The example of CONTRIBUTING: prints the numbers from N to 1 and their sum.
EXAMPLE = re.search(
    r"^```python\n(.*?class Countdown.*?)^```$",
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
assert EXAMPLE
COUNTDOWN = EXAMPLE[1]
CONTENDER = """
import sys

arguments = dict(word.split("=", 1) for word in sys.argv[1:])
n = int(arguments["n"])
for number in range(n, 0, -1):
    print(number)
print("::phase name=count ns=%d" % (n * int(arguments["step"])))
print("::result sum=%d" % (n * (n + 1) // 2))
"""


class Site:
    """A folder that packages are installed into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def install(self, distribution: str, entry_points: Mapping[str, str], module: str = "") -> None:
        """As an installer does it: a module, and the distribution's metadata beside it."""
        (self.folder / f"{distribution}.py").write_text(module, encoding="utf-8")
        info = self.folder / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in entry_points.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def registry(self) -> Registry:
        """For ring, and for everything that is installed here."""

        def declared() -> list[metadata.EntryPoint]:
            distributions = metadata.distributions(path=[str(self.folder)])
            return [
                entry
                for distribution in distributions
                for entry in distribution.entry_points
                if entry.group == GROUP
            ]

        return Registry((RING,), reserved=("command",), declared=declared)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site.folder))
    return site


def test_a_class_or_an_instance_is_a_workload(site: Site) -> None:
    site.install("by_class", {"countdown": "by_class:Countdown"}, COUNTDOWN)
    registry = site.registry()
    assert list(registry) == ["ring", "countdown"]
    assert len(registry) == 2
    assert isinstance(registry["countdown"], Workload)
    # It is made once.
    assert registry.find("countdown") is registry["countdown"]
    instance = COUNTDOWN.replace('"countdown"', '"upwards"') + "\n\nUPWARDS = Countdown()\n"
    site.install("by_instance", {"upwards": "by_instance:UPWARDS"}, instance)
    assert list(site.registry()) == ["ring", "countdown", "upwards"]


def test_nothing_is_imported_before_it_is_asked_for(site: Site, tmp_path: Path) -> None:
    marker = tmp_path / "imported"
    site.install("lazy", {"countdown": "lazy:Countdown"}, f"open({str(marker)!r}, 'w')\n{COUNTDOWN}")
    registry = site.registry()
    assert registry.find("ring") is RING
    assert not marker.exists()
    registry.find("countdown")
    assert marker.exists()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (COUNTDOWN, "import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        (COUNTDOWN, "raise SystemError('two\\nlines')", "SystemError: two lines"),
        (COUNTDOWN, "", "AttributeError: module 'broken' has no attribute 'Countdown'"),
        (COUNTDOWN, "Countdown = 5", "int is no subclass of ringside.workloads.base.Workload"),
        (COUNTDOWN, "class Countdown: pass", "Countdown is no subclass of ringside.workloads.base."),
        ("def figures", "def numbers", "TypeError: Can't instantiate abstract class Countdown"),
        ('"countdown"', '"other"', "its name is `other`, but its entry point is called `countdown`"),
        ('compared = ("step_ns",)', 'compared = ("ns",)', "metrics that it does not declare: ns"),
        ('compared = ("step_ns",)', "compared = ()", "`compared` must name at least one"),
        ("compared =", "compares =", "it declares no `compared`"),
        ('title = "A', 'subtitle = "A', "it declares no `title`"),
    ],
)
def test_a_broken_workload_breaks_nothing_else(
    site: Site, monkeypatch: pytest.MonkeyPatch, old: str, new: str, reason: str
) -> None:
    assert old in COUNTDOWN
    site.install("broken", {"countdown": "broken:Countdown"}, COUNTDOWN.replace(old, new))
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    registry = site.registry()
    assert registry.find("ring") is RING
    assert list(registry) == ["ring"]
    assert "countdown" not in registry
    with pytest.raises(KeyError):
        registry["countdown"]
    message = error_of(UsageError, registry.find, "countdown")
    assert message.startswith("the workload `countdown` cannot be used: broken, broken:Countdown: ")
    assert reason in message
    assert error_of(UsageError, registry.find, "typo") == (
        "there is no workload `typo`; known: ring, countdown (cannot be used)"
    )


def test_names_that_are_taken(site: Site) -> None:
    module = COUNTDOWN.replace('"countdown"', '"ring"')
    site.install("second", {"ring": "second:Countdown", "command": "second:Countdown"}, module)
    registry = site.registry()
    assert registry.find("ring") is RING
    assert list(registry) == ["ring"]
    with pytest.raises(
        UsageError, match="`command` cannot be used: ringside itself uses the name, so second"
    ):
        registry.find("command")
    message = "there is no workload `typo`; known: ring, command (cannot be used)"
    assert error_of(UsageError, registry.find, "typo") == message


def test_two_distributions_with_one_name(site: Site) -> None:
    for distribution in ("beta", "alpha"):
        site.install(distribution, {"countdown": f"{distribution}:Countdown"}, COUNTDOWN)
    with pytest.raises(UsageError, match="alpha and beta both declare it; uninstall one of them"):
        site.registry().find("countdown")


@pytest.fixture
def command_line(workplace: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ringside with the installed countdown, a contender and an experiment for it."""
    site = Site(workplace / "site")
    site.install("ringside_countdown", {"countdown": "ringside_countdown:Countdown"}, COUNTDOWN)
    site.install("broken", {"broken": "broken:nothing"})
    for name, step_ns in (("quick", 100), ("slow", 300)):
        folder = workplace / "contenders" / name
        folder.mkdir(parents=True)
        (folder / "countdown.py").write_text(CONTENDER, encoding="utf-8")
        (folder / "README.md").write_text(f"# {name}\n", encoding="utf-8")
        (folder / "contender.toml").write_text(
            f'title = "{name}"\nfamily = "threads"\nmodel = "a loop"\nlanguage = "Python"\nqueue = "none"\n'
            f'scheduler = "none"\n[runtime.python]\nexecutable = ["{PYTHON}"]\n'
            'version = ["{runtime}", "--version"]\n[workload.countdown]\n'
            f'command = ["{{runtime}}", "countdown.py", "step={step_ns}"]\n',
            encoding="utf-8",
        )
    (workplace / "mine.toml").write_text(
        'title = "Counting"\nworkload = "countdown"\ncontenders = ["quick", "slow"]\nblocks = 6\n'
        "[factors]\nn = [5, 7]\n",
        encoding="utf-8",
    )

    def ringside(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(SOURCE), str(site.folder), os.environ.get("PYTHONPATH", "")])
        return captured([*RINGSIDE, *words], env={**os.environ, "PYTHONPATH": path})

    return ringside


def test_an_installed_workload_from_its_run_to_its_report(
    command_line: Callable[..., subprocess.CompletedProcess[str]], workplace: Path
) -> None:
    listed = command_line("list", "workloads")
    assert "countdown" in listed.stdout
    assert "broken" not in listed.stdout
    run = command_line("run", "./mine.toml")
    assert run.returncode == 0, run
    assert re.search(r"^A countdown: n=5\b.*\nprogram +time per step\b", run.stdout)
    shown = command_line("show", "--json")
    assert shown.returncode == 0, shown
    document = json.loads(shown.stdout)
    assert document["workload"] == "countdown"
    steps_ns = [
        (cell["contender"], cell["point"]["n"], cell["metrics"]["step_ns"]["median"])
        for cell in document["cells"]
    ]
    assert sorted(steps_ns) == [("quick", 5, 100), ("quick", 7, 100), ("slow", 5, 300), ("slow", 7, 300)]
    report = command_line("report", "-o", "page.html")
    assert report.returncode == 0, report
    page = (workplace / "page.html").read_text(encoding="utf-8")
    assert "Every trial had to print N lines and their sum." in page
    assert "time per step" in page


SERVER = """
from ringside.model.design import Metric
from ringside.probe.protocol import ClosedLoop, ExpectedReply, LoadPlan
from ringside.workloads.base import CORES
from ringside.workloads.serving import RATE, Serving, server_figures, service, step


class Echo(Serving):
    name = "echo"
    title = "An echo"
    factors = (CORES,)
    metrics = (RATE,)
    compared = (RATE.name,)

    def service(self, point, seed):
        plan = LoadPlan(protocol="tcp", line="hello", requests=5, pacing=ClosedLoop(), timeout_s=9.0,
                        expect=ExpectedReply(equals="hello"))
        return service([step("measured", all=plan)])

    def work(self, point):
        return 1

    def figures(self, trial):
        return server_figures(trial, "measured")
"""
ECHO = """
import signal, socketserver, sys, threading, os

arguments = dict(word.split("=", 1) for word in sys.argv[1:])
if not arguments["port"].isdigit() or int(arguments["port"]) > 65535 or arguments["cores"] == "0":
    print("echo: a bad value", file=sys.stderr)
    sys.exit(2)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            for line in self.rfile:
                self.wfile.write(line)
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 1024


server = Server(("127.0.0.1", int(arguments["port"])), Handler)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
threading.Thread(target=server.serve_forever, daemon=True).start()
print("::ready port=%d" % server.server_address[1], flush=True)
while sys.stdin.readline():
    pass
"""


@pytest.mark.integration
@pytest.mark.parametrize(("old", "new", "rules"), cases(__file__, "servers_of_workloads"))
def test_a_server_of_an_installed_workload_is_checked(
    command_line: Callable[..., subprocess.CompletedProcess[str]],
    workplace: Path,
    old: str,
    new: str,
    rules: tuple[str, ...],
) -> None:
    assert old in ECHO
    site = workplace / "site"
    (site / "ringside_countdown.py").write_text(COUNTDOWN + SERVER, encoding="utf-8")
    info = site / "ringside_countdown-1.0.dist-info" / "entry_points.txt"
    info.write_text(f"[{GROUP}]\necho = ringside_countdown:Echo\n", encoding="utf-8")
    mine = workplace / "mine"
    mine.mkdir()
    (mine / "echo.py").write_text(ECHO.replace(old, new) if old else ECHO, encoding="utf-8")
    manifest = (workplace / "contenders" / "quick" / "contender.toml").read_text(encoding="utf-8")
    manifest = manifest.partition("[workload.")[0]
    manifest += '[workload.echo]\ncommand = ["{runtime}", "echo.py"]\n'
    (mine / "contender.toml").write_text(manifest, encoding="utf-8")
    done = command_line("check", "./mine", "--quick", "--json")
    (workload,) = json.loads(done.stdout)["contenders"][0]["workloads"]
    assert tuple(finding["rule"] for finding in workload["findings"]) == rules, done
    assert done.returncode == (1 if rules else 0)
