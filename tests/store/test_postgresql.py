"""Stores in PostgreSQL. tests/store/test_store.py has what both databases share."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ringside.errors import NoStoreError, StoreError
from ringside.store import Store, connection
from ringside.store.connection import FORMAT
from tests.support.command_line import RINGSIDE, in_process, parsed
from tests.support.errors import error_of
from tests.support.fake_contenders import Add
from tests.support.postgresql import Server
from tests.support.processes import is_over
from tests.support.stores import begin, trial


def test_a_store_of_another_format_is_refused(postgresql: Server, database: str, url: str) -> None:
    Store(url).close()
    postgresql.execute("UPDATE meta SET value = '9999'", database)
    for create in (True, False):
        with pytest.raises(StoreError, match=f"has format 9999, this ringside knows {FORMAT}"):
            Store(url, create=create)


def test_numbers_of_rows_and_seeds_have_64_bits(postgresql: Server, database: str, url: str) -> None:
    Store(url).close()
    types = postgresql.execute(
        "SELECT DISTINCT data_type FROM information_schema.columns WHERE table_schema = 'public' "
        "AND (table_name, column_name) IN (('run', 'seed'), ('trial', 'id'), ('timeline', 'trial_id'))",
        database,
    )
    assert types == [("bigint",)]


def test_a_password_is_not_shown() -> None:
    for secret, shown in (
        (
            "postgresql://me:secret@127.0.0.1:1/none",
            "postgresql://me:***@127.0.0.1:1/none: connection failed",
        ),
        (
            "postgresql://127.0.0.1:1/x?password=secret&user=a",
            "127.0.0.1:1/x?password=***&user=a: connection",
        ),
        # libpq repeats a URL that it cannot read.
        ("postgresql://me:secret@[1/none", "postgresql://me:***@[1/none: "),
    ):
        message = error_of(StoreError, Store, secret)
        assert "secret" not in message
        assert shown in message


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a listener that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_never_answers_is_one_line(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONNECT_S", 2)
    said = error_of(StoreError, Store, f"postgresql://{silent}/none")
    assert re.search(rf"//{silent}/none: .*timeout expired", said)
    done = in_process("list", "runs", "--store", f"postgresql://{silent}/none?connect_timeout=2", status=2)
    assert "timeout expired" in done.stderr
    assert done.stderr.count("\n") == 1


def test_silence_has_limits_unless_the_url_has_others(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "postgresql://host/database"
    assert connection._limits(place) == {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
    }
    own = connection._limits(f"{place}?connect_timeout=3&tcp_user_timeout=5000")
    assert own == {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "4")
    assert "connect_timeout" not in connection._limits(place)


def test_a_lock_that_a_lost_server_cannot_answer_is_one_line(postgresql: Server, url: str) -> None:
    store = Store(url)
    run = begin(store)
    # Without and with a connection that is there already.
    for _ in range(2):
        postgresql.stop()
        try:
            error_of(StoreError, store.is_held, run.id)
            with pytest.raises(StoreError):
                store.state(run.id, None)
            with pytest.raises(StoreError), store.hold(run.id):
                raise AssertionError("nothing holds it")
        finally:
            postgresql.start()
        assert not store.is_held(run.id)
    with store.hold(run.id):
        assert store.is_held(run.id)


def test_a_server_that_starts_again_between_two_trials_costs_none(postgresql: Server, url: str) -> None:
    store, other = Store(url), Store(url)
    run = begin(store)
    with store.hold(run.id):
        store.add_trial(run, trial(1))
        postgresql.stop()
        postgresql.start()
        # The lock ended with the connection.
        assert not other.is_held(run.id)
        store.add_trial(run, trial(2))
        assert other.is_held(run.id)
    assert not other.is_held(run.id)
    assert [each.block for each in store.trials(run)] == [1, 2]


def test_a_lock_that_another_process_took_meanwhile_ends_the_run(postgresql: Server, url: str) -> None:
    store = Store(url)
    run = begin(store)
    with store.hold(run.id):
        store.add_trial(run, trial(1))
        postgresql.stop()
        postgresql.start()
        other = Store(url)
        with other.hold(run.id):
            for _ in range(2):
                with pytest.raises(StoreError, match="was lost, and another process has it"):
                    store.add_trial(run, trial(2))
    assert [each.block for each in other.trials(run)] == [1]


def test_without_its_driver_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        StoreError, match=r"needs the Python package psycopg: pip install 'psycopg\[binary\]'$"
    ):
        Store("postgresql://x/y")


def test_a_lost_connection(postgresql: Server, url: str, add_experiment: Add) -> None:
    add_experiment("mine", "one", "two", blocks=15)
    words = ["run", "mine", "--until", "end", "--store", url]
    with subprocess.Popen([*RINGSIDE, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert is_over(lambda: _stored(url) > 3, 60)
        postgresql.stop()
        try:
            _, complaint = process.communicate(timeout=60)
        finally:
            postgresql.start()
    last = complaint.decode().strip().splitlines()[-1]
    assert process.returncode == 2, complaint
    assert b"Traceback" not in complaint
    assert "`ringside run --resume " in last
    assert "the connection was lost" in last
    before = _stored(url)
    assert before < 30
    in_process("run", "--resume", "latest", "--store", url)
    shown = parsed("show", "--store", url)
    assert [cell["outcomes"] for cell in shown["cells"]] == [{"ok": 15}] * 2


def _stored(url: str) -> int:
    """How many trials the latest run has; 0 where there is no store, or no run, yet."""
    with suppress(NoStoreError):
        store = Store(url, create=False)
        try:
            return store.progress(store.run().id).trials
        finally:
            store.close()
    return 0
