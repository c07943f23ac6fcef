"""Scripts for a shell in which `ringside` is the command, with mounts of their own where these can be had."""

import json
import os
import shutil
import subprocess

import pytest

from tests.support.command_line import RINGSIDE, captured

# A mount namespace of one's own; where the user is not root, in a user namespace.
OWN_MOUNTS = ["unshare", "-m" if os.getuid() == 0 else "-rm"]
HAS_MOUNTS = (
    shutil.which("unshare") is not None
    and subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, check=False).returncode == 0
)
can_mount = pytest.mark.skipif(not HAS_MOUNTS, reason="no mount namespace can be had")


def shell(script: str, *, mounts: bool = False) -> subprocess.CompletedProcess[str]:
    """A script in which `ringside` is the command; with `mounts` it can mount what it wants."""
    words = " ".join(f"'{word}'" for word in RINGSIDE)
    command = ["sh", "-c", f'ringside() {{ {words} "$@"; }}\n{script}']
    done = captured([*OWN_MOUNTS, *command] if mounts else command)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def outcomes(text: str) -> dict[str, dict[str, int]]:
    return {cell["contender"]: cell["outcomes"] for cell in json.loads(text)["cells"]}
