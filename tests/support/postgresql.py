"""A PostgreSQL of the tests' own: a server in a temporary folder, reached by a socket in it only."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

_NUMBERS = count()


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian has them out of the PATH."""
    if initdb := shutil.which("initdb"):
        return Path(initdb).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda it: int(it.parent.name), default=None)


class Server:
    """A server that runs."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs
        # It refuses to run as root.
        self._user = _unprivileged() if os.getuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        # Nothing that is written has to outlive the machine.
        self._call(
            "initdb", "-A", "trust", "-U", "ringside", "--no-sync", "-E", "UTF8", "-D", f"{folder}/data"
        )
        self.start()

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        log = f"{self.folder}/log"
        self._call("pg_ctl", "-D", f"{self.folder}/data", "-l", log, "-w", "-o", options, "start")

    def stop(self) -> None:
        """At once, as after a crash: connections are lost."""
        self._call("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "-w", "stop")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql:///{database}?host={self.folder}&user=ringside"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """The rows of a statement, which is in no transaction."""
        import psycopg

        place = f"dbname={database} host={self.folder} user=ringside"
        with psycopg.connect(place, autocommit=True) as connection:
            result = connection.execute(statement.encode())
            return result.fetchall() if result.description else []

    @contextmanager
    def database(self) -> Iterator[str]:
        """The name of an empty database, which is then removed."""
        name = f"ringside_{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name}")
        yield name
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _call(self, program: str, *words: str) -> None:
        drop = ["setpriv", f"--reuid={self._user}", "--clear-groups"] if self._user else []
        subprocess.run(
            [*drop, str(self._programs / program), *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )


@contextmanager
def server() -> Iterator[Server]:
    """Raises LookupError if there is no PostgreSQL."""
    folder, binaries = Path(tempfile.mkdtemp(prefix="ringside-postgresql-")), programs()
    try:
        if binaries is None:
            raise LookupError("PostgreSQL is not installed (Debian: apt-get install postgresql)")
        running = Server(folder, binaries)
        try:
            yield running
        finally:
            # A test may have stopped it.
            with contextlib.suppress(subprocess.CalledProcessError):
                running.stop()
    finally:
        shutil.rmtree(folder)


def _unprivileged() -> str:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise LookupError("PostgreSQL refuses to run as root, and there is no other user")
