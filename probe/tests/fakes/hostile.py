"""Prints what a broken or hostile program might."""

import os
import sys


def out(data):
    while data:
        data = data[os.write(1, data) :]


case = sys.argv[1]
if case == "binary":
    out(b"\xff\xfe\x00\x1b[31m\n" * 1000 + bytes(range(256)))
elif case == "endless-line":
    for _ in range(64):
        out(b"x" * (1 << 20))
elif case == "long-protocol-line":
    out(b"::result a=" + b"x" * 70_000 + b"\n")
elif case == "phases":
    for _ in range(1000):
        out(b"::phase name=a ns=1\n" * 1000)
elif case == "name":
    out('::phase name=\u202e"\\é</script> ns=9223372036854775807\n'.encode())
    out(b'::result x="}{\\ y=\xe2\x80\xae\n')
elif case == "line":
    out(os.fsencode(sys.argv[2]) + b"\n")
elif case == "closed":
    os.close(1)
    os.close(2)
    os.close(0)
    import time

    time.sleep(0.2)
elif case == "tail":
    out("é".encode() * 5000)
    os.write(2, b"\xff" * 5000)
