"""The types of errors. Each error says what to do, and ends the command with status 2."""


class RingsideError(Exception):
    """Base of all errors that a user may see: one line, which also says what to do."""


class UsageError(RingsideError):
    """The command line asks for something that does not exist or makes no sense."""


class NoStoreError(UsageError):
    """There is no store yet to read from: nothing was run here."""


class CatalogueError(RingsideError):
    """A file of the catalogue is wrong. The text begins with the file and, where known, the line."""


class BuildError(RingsideError):
    """A contender's build failed. `log` is the build's output: hostile text."""

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
