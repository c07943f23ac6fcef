"""ppft's worker processes. ppft waits for ever for the answer of one that was killed, and to end for one that
computes: here the program ends at once, and they with it."""

import atexit
import os
import pickle
import signal
import threading
from contextlib import suppress
from pathlib import Path

import ppft

from arguments import complain


class Workers:
    def __init__(self):
        self._server = None
        self._ending = threading.Lock()
        # Not in a handler, which runs in the main thread and when that comes to it.
        told, telling = os.pipe()
        os.set_blocking(telling, False)
        signal.set_wakeup_fd(telling)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        threading.Thread(target=self._watch, args=(told,), daemon=True).start()

    def start(self, count):
        """A server of ppft's with so many processes."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            # ppft's own choice, protocol 2, has no bytes.
            self._server = ppft.Server(count, proto=pickle.HIGHEST_PROTOCOL)
        except (OSError, RuntimeError) as error:
            self.give_up(1, f"a worker did not start: {error}")
        return self._server

    def end(self):
        """When the server has done all. Another may be started."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # They are killed, and waited for.
        self._server.destroy()
        # Not once more at the exit: the process ids may be others' by then.
        atexit.unregister(self._server.destroy)

    def give_up(self, status, why=None):
        """Ends the program and its workers at once, whatever is under way."""
        self._ending.acquire()  # For good: who comes first has the last word.
        if why:
            complain(why)
        while pids := children():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        os._exit(status)

    def _watch(self, told):
        (number,) = os.read(told, 1)
        if number == signal.SIGCHLD:
            self.give_up(1, "a worker was killed")
        self.give_up(128 + number)


def children():
    """The process ids of the workers, which the main thread starts: ppft has no public way to them."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
