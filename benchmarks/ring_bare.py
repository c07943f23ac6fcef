"""The cost of the protocol: each contender of the ring beside a bare program of the same idiom that knows
nothing of Ringside (benchmarks/bare), ns per hop by their own clocks, taking turns on one CPU.

Target: within 5 % per hop. `ring_bare.py [CONTENDER …]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Executor
from ringside.measure.runs import trials as trial
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Ready, Unavailable
from ringside.workloads.ring.workload import checksum

from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
BARE = Path(__file__).resolve().parent / "bare"
ROUNDS = 7
# The number of hops with which a side takes about a second.
POINTS = {
    "erlang": (100, 40_000),
    "go": (100, 40_000),
    "stackless-pypy": (100, 10_000),
    "stackless-greenlet": (100, 5_000),
    "multitask": (100, 2_000),
    "python-asyncio": (100, 2_000),
    "python-threads": (100, 500),
    "limit": (100, 300_000),
    "java-virtual-threads": (100, 40_000),
    "kotlin-coroutines": (100, 8_000),
    "node": (100, 30_000),
    "rust-tokio": (100, 80_000),
    "ocaml": (100, 40_000),
}
# How each bare peer is built and run: {runtime} and {build} are the contender's, {out} is a folder.
BUILDS = {
    "erlang": ["erlc", "-o", "{out}", "bare_erlang.erl"],
    "go": ["{runtime}", "build", "-o", "{out}/go", "go.go"],
    "limit": ["rustc", "--edition=2021", "-C", "opt-level=3", "-o", "{out}/limit", "limit.rs"],
    "java-virtual-threads": [
        *("{runtime}", "--module", "jdk.compiler/com.sun.tools.javac.Main"),
        *("-d", "{out}", "java-virtual-threads.java"),
    ],
    # The compiler does not accept `*` in its class path.
    "kotlin-coroutines": [
        *("sh", "-c", '"$@" -no-stdlib -no-reflect -cp "$(printf %s: "$0"/*.jar)"', "{build}/lib"),
        *("{runtime}", "-cp", "{build}/compiler/*:{build}/lib/*"),
        *("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-jvm-target", "21"),
        *("-d", "{out}", "kotlin-coroutines.kt"),
    ],
    "rust-tokio": [
        *("{runtime}", "build", "--quiet", "--release", "--locked"),
        *("--manifest-path", "tokio/Cargo.toml", "--target-dir", "{out}/tokio"),
    ],
    # The compiler writes its output beside the source.
    "ocaml": [
        *("sh", "-ec", 'cp ocaml.ml "$1"; cd "$1"; "$0" ocamlopt -package "$2" -linkpkg -o ocaml ocaml.ml'),
        *("{runtime}", "{out}", "lwt.unix,mtime.clock,threads.posix"),
    ],
}
JAVA = ("{runtime}", "-XX:ActiveProcessorCount=1", "-cp")
RUNS = {
    "erlang": ["{runtime}", "-noshell", "+S", "1", "-pa", "{out}", "-s", "bare_erlang", "main", "-extra"],
    "go": ["{out}/go"],
    "limit": ["{out}/limit"],
    "stackless-greenlet": ["{build}/venv/bin/python", "stackless-greenlet.py"],
    "java-virtual-threads": [*JAVA, "{out}", "JavaVirtualThreads"],
    "kotlin-coroutines": [*JAVA, "{out}:{build}/lib/*", "Kotlin_coroutinesKt"],
    "node": ["{runtime}", "node.mjs"],
    "rust-tokio": ["{out}/tokio/release/bare-tokio"],
    "ocaml": ["{out}/ocaml"],
}


def main() -> int:
    catalogue, toolchain = Catalogue([ROOT]), Toolchain(ROOT / ".ringside" / "builds")
    executor = Executor()
    (cpu,), _ = executor.cpus(1)
    out = ROOT / ".ringside" / "bare"
    out.mkdir(parents=True, exist_ok=True)
    print(f"ns per hop, {ROUNDS} rounds, taking turns, one CPU")
    for name, (nodes, messages) in POINTS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        ready = toolchain.prepare(catalogue.contender(name))
        if isinstance(ready, Unavailable):
            print(f"  {name}: {ready.reason}; {ready.remedy}")
            continue
        names = {"runtime": ready.receipt.executable, "build": ready.build, "out": out, "cores": 1}
        if name in BUILDS:
            subprocess.run(expand(BUILDS[name], names), cwd=BARE, check=True)
        bare = expand(RUNS.get(name, ["{runtime}", f"{name}.py"]), names)
        ours = expand(ready.contender.workloads["ring"].command, names)
        environment = trial.environment(os.environ, ready, 1, 1, 1)
        arguments = [f"nodes={nodes}", f"messages={messages}", "cores=1", "mode=pipelined", "trace=0"]
        hops = nodes * messages

        def contender() -> float:
            said = run([*ours, *arguments], ready, environment, cpu)  # noqa: B023 (called in this turn)
            phase = next(line for line in said.splitlines() if line.startswith("::phase name=relay"))
            return int(phase.rpartition("ns=")[2]) / hops  # noqa: B023

        def peer() -> float:
            words = [*bare, str(nodes), str(messages)]  # noqa: B023
            elapsed, total = run(words, ready, environment, cpu).split()  # noqa: B023
            assert int(total) == checksum(nodes, messages), total  # noqa: B023
            return int(elapsed) / hops  # noqa: B023

        print(f" nodes={nodes} messages={messages}")
        tell(take_turns({name: contender, "bare": peer}, ROUNDS), "ns", "bare")
    return 0


def run(command: list[str], ready: Ready, environment: dict[str, str], cpu: int) -> str:
    folder = ready.contender.folder if command[-1].startswith("trace=") else BARE
    done = subprocess.run(
        ["taskset", "-c", str(cpu), *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
