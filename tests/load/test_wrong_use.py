"""Wrong use of `ringside load`: each mistake gets one line that says what to do, and status 2."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

# In each line the words after `ringside load`, and a part of its answer.
MISTAKES = Path(__file__).with_name("wrong_use.txt").read_text(encoding="utf-8").splitlines()
FILES = {
    "users.csv": b'user,"key"\nann,"1,5"\n',
    "empty.csv": b"a,b\n",
    "names.csv": b"a,id\n1,2\n",
    "ragged.csv": b"a,b\n1,2\n3\n",
    "quote.csv": b'a,b\n1,"2\n',
    "lines.csv": b'a\n"1\n2"\n',
    "latin.csv": b"a\n\xe9\n",
    "nothing.pem": b"no certificate\n",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_wrong_use_gets_one_line(complaint: Callable[..., str], workplace: Path, mistake: str) -> None:
    for name, content in FILES.items():
        (workplace / name).write_bytes(content)
    words, _, message = mistake.partition(" :: ")
    arguments = [word.replace("$a\\nb", "a\nb") for word in shlex.split(words)]
    assert message in complaint("load", *arguments)
