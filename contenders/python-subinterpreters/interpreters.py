"""Starts interpreters, each in a thread of its own."""

import sys
import threading

try:
    from concurrent import interpreters
except ImportError:  # CPython 3.13 has its parts.
    from backports import interpreters

# A new interpreter does not look for modules where the program is.
PREPARE = "import sys; sys.path[:] = path.splitlines(); "

create_queue = interpreters.create_queue
Queue = interpreters.Queue
Failed = (interpreters.InterpreterError, MemoryError, RuntimeError)


class Unit:
    """An interpreter that runs a line of Python, with these whole numbers as names."""

    def __init__(self, line, **names):
        self._interpreter = interpreters.create()
        self._interpreter.prepare_main(path="\n".join(sys.path), **names)
        self._thread = threading.Thread(target=self._interpreter.exec, args=(PREPARE + line,), daemon=True)
        self._thread.start()

    def end(self):
        """When it has run."""
        self._thread.join()
        self._interpreter.close()
