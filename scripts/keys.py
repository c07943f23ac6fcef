"""Makes docs/KEYS.md, the reference of all keys of manifests, experiments, suites and published figures.

.venv/bin/python scripts/keys.py            write it
.venv/bin/python scripts/keys.py --check    exit status 1 if it differs from the types
"""

from __future__ import annotations

import sys
from pathlib import Path

from ringside.catalogue.reference import reference

PAGE = Path(__file__).resolve().parents[1] / "docs" / "KEYS.md"


def main() -> int:
    text = reference()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/KEYS.md differs from the types: run scripts/keys.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
