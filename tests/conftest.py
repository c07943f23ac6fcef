import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from ringside.store import Store
from tests.support import postgresql as postgresql_server
from tests.support.command_line import in_process
from tests.support.fake_contenders import write_fake
from tests.support.needed import ALL, SAMPLE, changed_contenders
from tests.support.skips import pytest_runtest_makereport as pytest_runtest_makereport
from tests.support.started import LOAD_SERVER, ports_of

# No test may fail because a machine was slow.
settings.register_profile(
    "patient", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Each test of these takes long and shares nothing with the next; tests of any other file are one worker's.
SPREAD = ("contenders/test_conforming.py", "contenders/test_figures.py", "conformance/test_check.py")
# These read the repository's records, which takes half a minute: one worker does so, once.
OF_RECORDS = ("test_results.py", "test_posts.py", "test_tour.py", "test_answers_of_records.py")


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """One worker gets all tests of a group. Marks of xdist's own groups have no effect with pytest 9.2, which
    does not read the ids that xdist writes them into: each test would be a group."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.endswith(SPREAD):
            return nodeid
        # Two clusters of Ray on one machine take each other's ports.
        if "/cluster/" in file:
            return "cluster"
        return "records" if file.endswith(OF_RECORDS) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups:
    return Groups(config, log)


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[str, str]]:
    """The ports of a server for loads, of HTTP and of lines."""
    with ports_of(LOAD_SERVER) as (http, tcp):
        yield str(http), str(tcp)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `own.pem`, which has signed itself, for localhost and 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("certificates")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key -out own.pem "
        "-days 9 -subj /CN=own -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def http(ports: tuple[str, str], workplace: Path) -> str:
    """The URL of that server, without a path."""
    return f"http://127.0.0.1:{ports[0]}"


# Before pytest leaves out what the marks say.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    changed = changed_contenders()
    for item in items:
        folder = item.path.parent.name
        name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
        contender = name.partition("@")[0] if isinstance(name, str) else None
        if contender in ALL and name not in SAMPLE:
            is_integration = item.get_closest_marker("integration") is not None
            if contender not in changed if is_integration else folder == "contenders":
                item.add_marker(pytest.mark.soak)


@pytest.fixture(autouse=True)
def own_lock(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other: their runs do not wait for those of other tests."""
    monkeypatch.setenv("RINGSIDE_LOCK", str(tmp_path_factory.getbasetemp() / "measurement.lock"))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgresql_server.Server]:
    """A PostgreSQL of the tests' own. Without it tests are left out."""
    try:
        with postgresql_server.server() as running:
            yield running
    except LookupError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def database(postgresql: postgresql_server.Server) -> Iterator[str]:
    """The name of an empty database of that server."""
    with postgresql.database() as name:
        yield name


@pytest.fixture
def url(postgresql: postgresql_server.Server, database: str) -> str:
    """That database as a store."""
    return postgresql.url(database)


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """A Chromium without a window."""
    from tests.support.browsers import launched

    with launched() as started:
        yield started


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "s.sqlite")


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The places where an empty store can be made: one for each of the databases."""
    return str(
        tmp_path / "deep" / "s.sqlite" if request.param == "sqlite" else request.getfixturevalue("url")
    )


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, as a user would, with a store of the user's own elsewhere."""
    place = tmp_path / "workplace"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("RINGSIDE_CATALOGUE", "RINGSIDE_STORE", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def complaint(workplace: Path) -> Callable[..., str]:
    """Returns the one line that a wrong use gets."""

    def complain(*words: str, **environment: str) -> str:
        ended = in_process(*words, status=2, **environment)
        assert not ended.stdout
        (line,) = ended.stderr.strip().splitlines()
        assert line.startswith("ringside: ")
        return line

    return complain


@pytest.fixture
def add_fake(workplace: Path) -> Callable[..., None]:
    """Adds a contender to the workplace's own catalogue that is fine but for `how`."""

    def add(name: str, how: str = "good", *more: str) -> None:
        write_fake(workplace / "contenders" / name, how, *more)

    return add


@pytest.fixture
def add_experiment(workplace: Path) -> Callable[..., None]:
    """Adds an experiment of fakes to the workplace's own catalogue, and those that are not there, good ones.
    `more`: further keys of its factors, and tables."""

    def add(
        name: str,
        *contenders: str,
        blocks: int = 1,
        workload: str = "ring",
        factors: str = "nodes = 4\nmessages = 5\n",
        more: str = "",
    ) -> None:
        folder = workplace / "experiments"
        folder.mkdir(exist_ok=True)
        head = f'title = "{name}"\nworkload = "{workload}"\ncontenders = {json.dumps(contenders)}\n'
        text = f"{head}blocks = {blocks}\n[factors]\n{factors}{more}"
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        for contender in contenders:
            if contender not in ALL and not (workplace / "contenders" / contender).exists():
                write_fake(workplace / "contenders" / contender)

    return add


@pytest.fixture
def add_suite(workplace: Path) -> Callable[..., None]:
    """Adds a suite to the workplace's own catalogue."""

    def add(name: str, *parts: str, more: str = "") -> None:
        folder = workplace / "experiments"
        folder.mkdir(exist_ok=True)
        text = f'title = "{name.capitalize()}"\nparts = {json.dumps(parts)}\n{more}'
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")

    return add
