"""Forks without end, in every child too. A count that all share keeps the machine safe."""

import mmap
import os
import signal
import struct
import sys
import time

MOST = 3000
apart = "apart" in sys.argv
count = mmap.mmap(-1, 8)
signal.alarm(40)
while struct.unpack("q", count[:8])[0] < MOST:
    if os.fork() == 0:
        count[:8] = struct.pack("q", struct.unpack("q", count[:8])[0] + 1)
        signal.alarm(40)
        if apart:
            os.setsid()
    else:
        time.sleep(0.01)
time.sleep(40)
