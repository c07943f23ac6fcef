"""What can go wrong, as types. Each error is one line that says what to do.

::

    RingsideError                  exit status 2 unless said otherwise
    ├── UsageError                 the command line asks for what does not exist or makes no sense
    │   └── NoStoreError           there is no store yet to read from
    ├── CatalogueError             a manifest, experiment or published file is wrong (file and line)
    ├── BuildError                 a contender cannot be built; carries the log
    ├── StoreError                 the store cannot be opened, read or written
    ├── ProbeError                 the probe is missing, of another version, or broke off
    ├── ClusterError               a cluster cannot be reached, has no suitable node, or was lost
    └── ReportError                a page or a plot cannot be made
"""

from __future__ import annotations


class RingsideError(Exception):
    """Base of all errors that a user may see: the text is one line with the way out."""


class UsageError(RingsideError):
    """The command line asks for something that does not exist or makes no sense."""


class NoStoreError(UsageError):
    """There is no store yet to read from: nothing was run here."""


class CatalogueError(RingsideError):
    """A file of the catalogue is wrong. The text begins with the file and, where known, the line."""


class BuildError(RingsideError):
    """A contender's build failed. `log` is what the build printed: hostile text."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class StoreError(RingsideError):
    """The store cannot be opened, read or written."""


class ProbeError(RingsideError):
    """The probe is missing, speaks another version, or ended without an outcome."""


class ClusterError(RingsideError):
    """A cluster cannot be reached, has no suitable node, or was lost."""


class ReportError(RingsideError):
    """A page or a plot cannot be made."""
