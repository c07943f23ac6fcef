"""Leaves daemons behind, in one of several ways, and ends with status 0."""

import ctypes
import os
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
way = sys.argv[1]
read, write = os.pipe()


def stay():
    signal.alarm(40)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(write, b".")
    time.sleep(40)
    os._exit(0)


def run_away():
    """A new process every moment: the one that was seen is gone when the signal comes."""
    end = time.monotonic() + 40
    os.write(write, b".")
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        if way == "runaway-apart":
            os.setsid()
    os._exit(0)


if way == "subreaper":
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
if way == "leave-cgroup":
    own = [line for line in open("/proc/self/cgroup") if line.startswith("0::")][0][3:].strip()
    mounts = [line for line in open("/proc/self/mountinfo") if " - cgroup2 " in line]
    mount = mounts[0].split()[4]
    try:
        with open(mount + os.path.dirname(own) + "/cgroup.procs", "w") as procs:
            procs.write("0")
    except OSError as error:
        print(error, file=sys.stderr)

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        run_away() if way.startswith("runaway") else stay()
    os._exit(0)
os.read(read, 1)
os.wait()
