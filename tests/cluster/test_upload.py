"""What is sent to nodes, and where it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

import ringside
from ringside.cluster.session import PROBE, upload, uploaded
from ringside.probe.process import Probe


def test_the_folder_has_what_nodes_need_and_is_gone_at_the_end() -> None:
    with upload() as (folder, contenders):
        assert contenders == {}
        assert (folder / "ringside" / "cluster" / "session.py").is_file()
        assert Probe(str(folder / PROBE))
    assert not folder.exists()


def test_it_is_found_beside_the_package_also_without_a_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(ringside, "__file__", str(tmp_path / "ringside" / "__init__.py"))
    assert uploaded(PROBE) == tmp_path / "bin" / "ringside-probe"
    # A contender of this machine, which was not sent.
    assert uploaded(Path("/opt/own")) == Path("/opt/own")
