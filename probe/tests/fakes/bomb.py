"""Forks, in every child too. Generations and children are bounded, so that a probe that fails
cannot take the machine with it: 781 processes in all."""
import os
import signal
import sys
import time

GENERATIONS, CHILDREN = 4, 5
apart = "apart" in sys.argv
generation = 0
born = 0
signal.alarm(40)
while born < CHILDREN and generation < GENERATIONS:
    born += 1
    if os.fork() == 0:
        generation, born = generation + 1, 0
        signal.alarm(40)
        if apart:
            os.setsid()
end = time.monotonic() + 40
while time.monotonic() < end:
    time.sleep(0.01)
