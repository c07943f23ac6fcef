"""Starts idle children, so that a sample of the tree takes long, and ends in the middle of one. Notes when by
CLOCK_MONOTONIC, as its last act."""

import os
import sys
import time


def say(line):
    os.write(1, f"{line}\n".encode())


for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
# The line that is read soonest tells when the probe's clock began.
for _ in range(20):
    say(f"::phase name=clock ns={time.monotonic_ns()}")
    time.sleep(0.002)
asked = time.monotonic()
say("::await name=spawned")
os.read(0, 1)
sample = time.monotonic() - asked
say("::result a=1")
time.sleep(sample / 8)
say(f"::phase name=end ns={time.monotonic_ns()}")
os._exit(0)
