"""What is sent to every node: this Ringside, its probe, and the contenders' sources. Ray's runtime
environment brings the folder there, once for the same content."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

import ringside
from ringside.errors import ProbeError, UsageError
from ringside.measure.toolchain.builds import source_paths
from ringside.model.catalogue import Contender
from ringside.probe.process import Probe, find_probe

PROBE = Path("bin", "ringside-probe")
# The wheel has the whole catalogue inside the package; only what takes part is sent.
_NOT_SENT = shutil.ignore_patterns("__pycache__", "*.pyc", "bundled")


@contextmanager
def upload(contenders: Mapping[str, Contender] = {}) -> Iterator[tuple[Path, dict[str, Contender]]]:
    """The folder to send, removed at the end, and the contenders as they are on a node: their folders are
    relative to the working directory. A contender that is only a command is not sent; its program must be on
    the nodes. Raises UsageError where the folder cannot be written, ProbeError without a probe here."""
    with tempfile.TemporaryDirectory(prefix="ringside-") as name:
        folder = Path(name)
        try:
            shutil.copytree(Path(ringside.__file__).parent, folder / "ringside", ignore=_NOT_SENT)
            (folder / PROBE).parent.mkdir()
            shutil.copy2(find_probe(), folder / PROBE)
            there = {name: _packed(contender, folder) for name, contender in contenders.items()}
        except OSError as error:
            raise UsageError(f"what nodes need cannot be gathered in {folder}: {error}") from error
        yield folder, there


def uploaded(path: Path) -> Path:
    """On a node, the absolute path of something that was sent. Not by the working directory: where nodes
    share a machine, Ray may remove and make it again."""
    return Path(ringside.__file__).resolve().parents[1] / path


def uploaded_probe() -> Probe:
    """On a node, the probe that was sent, else the one that is installed there: that of another architecture
    or C library does not start. Raises ProbeError."""
    try:
        return Probe(str(uploaded(PROBE)))
    except ProbeError:
        return Probe()


def _packed(contender: Contender, folder: Path) -> Contender:
    if not contender.has_sources:
        return contender
    # `name@runtime` is in the folder of `name`; one from outside may have the name of another.
    own = Path("contenders", contender.name.replace("/", "_"))
    for path in source_paths(contender):
        target = folder / own / path.relative_to(contender.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return replace(contender, folder=own)
