"""A ring that does not run one: it computes the right evidence and then misbehaves as `FAKE` says."""

import os
import signal
import sys
import time

import attacks

arguments = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
nodes, messages = int(arguments["nodes"]), int(arguments["messages"])
how = arguments.get("how", "good")
out = sys.stdout

values = [number + nodes * (nodes - 1) // 2 for number in range(messages - 1, -1, -1)]
if how == "skips-a-unit":
    values = [value - 1 for value in values]
if how == "reorders":
    values[0], values[-1] = values[-1], values[0]
if how == "loses-a-message":
    values = values[1:]
order = 0
for value in values:
    order = (31 * order + value) % 2147483647
checksum = sum(values) + (how == "wrong-sum")


def say(line):
    out.write(line + "\n")
    out.flush()


if how == "hangs":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1000)
if how == "crashes":
    sys.exit("this is </script><b>what\x1b[31m I said")
if how == "floods":
    while True:
        out.write("x" * 65536)
if how == "eats-memory":
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1 << 20)))
if how == "daemonises":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            open(arguments["marker"], "w").write(str(os.getpid()))
            time.sleep(1000)
        os._exit(0)
    os.wait()
    while not os.path.exists(arguments["marker"]) or not open(arguments["marker"]).read():
        time.sleep(0.01)

attacks.BEFORE.get(how, lambda: None)()
say("::phase name=spawn ns=1000")
if arguments.get("hold") == "1":
    say("::await name=spawned")
    if how != "never-reads-stdin":
        sys.stdin.readline()
relay_ns = nodes * messages * 100
begun = time.monotonic_ns()
attacks.WORKING.get(how, lambda: None)()
if arguments.get("trace") == "1":
    for message in range(messages - 1, -1, -1):
        for unit in range(1, nodes + 1):
            if how == "traces-too-little" and message == 0 and unit == 1:
                continue
            last = unit == nodes
            sign = (">" if last else ":") if message else ("@" if last else "*")
            out.write("%s Proc: 1, Seq#: %d, Msg#: %d ..\n" % (sign, unit, message))
# A round time, which the relay really takes, unless it takes longer. One that misreports it computes, as rings do:
# on a busy host a sleep could be a wait for a CPU.
while how.startswith("reports-") and time.monotonic_ns() - begun < relay_ns:
    pass
time.sleep(max(0, relay_ns - (time.monotonic_ns() - begun)) / 1e9)
took_ns = time.monotonic_ns() - begun
if took_ns > relay_ns + 500_000:
    relay_ns = took_ns
if how == "reports-microseconds":
    relay_ns //= 1000
if how == "reports-milliseconds":
    relay_ns //= 1_000_000
if how == "reports-more-than-the-trial":
    relay_ns += 10**11
if how == "reports-time-that-goes-backwards":
    relay_ns = -relay_ns
say("::phase name=relay ns=%d" % relay_ns)
if how != "says-nothing":
    say("::result checksum=%d order=%d" % (checksum, order))
attacks.AFTER.get(how, lambda: None)()
