"""Prints lines as a ring with trace=1 does; `apart` writes each by itself."""

import os
import sys

nodes, messages = int(sys.argv[1]), int(sys.argv[2])
if "apart" in sys.argv:
    write = lambda text: os.write(1, text.encode())
else:
    write = sys.stdout.write
for r in range(messages - 1, -1, -1):
    for i in range(1, nodes + 1):
        if r:
            write(f"{'>' if i == nodes else ':'} Proc: 7, Seq#: {i}, Msg#: {r} ..\n")
        elif i < nodes:
            write(f"* Proc: 7, Seq#: {i}, Msg#: terminate!\n")
        else:
            write(f"@ Proc: 7, Seq#: {i}, ring terminated.\n")
sys.stdout.flush()
os.write(1, b"::result checksum=1\n")
