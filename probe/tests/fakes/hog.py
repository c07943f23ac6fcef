"""Takes memory in steps of 8 MiB, each page written to; the argument is the most, in MiB."""

import sys
import time

held = []
for _ in range(int(sys.argv[1]) // 8):
    held.append(bytearray(b"x") * (8 << 20))
    time.sleep(0.01)
time.sleep(40)
