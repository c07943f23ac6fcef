"""The languages in which `ringside new contender` writes a contender. The programs are the files below
`templates/`, each with `.tmpl` behind its name, so that no tool takes them for sources of Ringside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# The workloads of a new contender for which none is named, and all that each language has a template of.
WORKLOADS = ("ring", "fib")
ALL_WORKLOADS = ("ring", "batch", "jobs", "fib", "feed", "fanout", "sleepers")
# Those whose program is a server.
SERVERS = ("fib", "feed", "fanout")


@dataclass(frozen=True, slots=True)
class Language:
    """What a contender in a language consists of. `runtime`: the table `[runtime.…]` of its manifest, as
    TOML. `shared`: files of all workloads, by their path in the contender, and `helpers` of some: a template,
    and the workloads that need it. `program`: the path of a workload's source, `{workload}` in it; `source`:
    the name of its template. `build`: a command for all workloads, `{sources}` in it are all files of the
    contender that are sources, `build_each` for each; `command` starts a program, `commands` those of
    workloads that need another. `{Workload}` is the workload
    with a capital. `computing`: what the model has besides for batch and jobs, where this makes the contender
    parallel."""

    name: str
    title: str
    model: str
    queue: str
    scheduler: str
    runtime: str
    command: Sequence[str]
    program: str
    source: str
    shared: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    build: Sequence[str] = ()
    build_each: Sequence[str] = ()
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)
    parallel: bool = False
    most_threads: int | None = None
    computing: str = ""
    family: str = "threads"


_THREADS = "a thread of the kernel for each unit and each connection"

_ALL = (
    Language(
        name="python",
        title="Python",
        model=_THREADS,
        queue="unbounded",
        scheduler="the kernel's",
        runtime="""[runtime.cpython]
executable = ["python3.13", "python3.12", "python3.11", "python3"]
version    = ["{runtime}", "-c", "import platform; print(platform.python_version())"]
# The program that is really started, where a version manager puts a script in front.
locate     = ["{runtime}", "-c", "import sys; print(sys.executable)"]
minimum    = "3.11"
install    = { debian = ["python3"] }
""",
        command=("{runtime}", "-B", "{workload}.py"),
        program="{workload}.py",
        source="{workload}.py",
        shared={"arguments.py": "arguments.py"},
        most_threads=10_000,
    ),
    Language(
        name="go",
        family="channels",
        title="Go",
        model="a goroutine for each unit and each connection, channels between units",
        queue="0 (rendezvous)",
        scheduler="preemptive",
        parallel=True,
        runtime="""[runtime.go]
executable = ["go"]
version    = ["{runtime}", "version"]
minimum    = "1.21"
install    = { debian = ["golang-go"] }
""",
        build=("{runtime}", "build", "-o", "{build}/", "./..."),
        command=("{build}/{workload}",),
        program="{workload}/main.go",
        source="{workload}.go",
        shared={"go.mod": "go.mod", "arguments/arguments.go": "arguments.go"},
    ),
    Language(
        name="rust",
        title="Rust",
        model=_THREADS,
        queue="unbounded",
        scheduler="the kernel's",
        parallel=True,
        runtime="""[runtime.rust]
executable = ["cargo"]
version    = ["{runtime}", "--version"]
minimum    = "1.71"
install    = { debian = ["cargo"] }
""",
        build=("{runtime}", "build", "--quiet", "--release", "--locked", "--target-dir", "{build}/target"),
        command=("{build}/target/release/{workload}",),
        program="src/bin/{workload}.rs",
        source="{workload}.rs",
        shared={"Cargo.toml": "Cargo.toml", "Cargo.lock": "Cargo.lock", "src/arguments.rs": "arguments.rs"},
        helpers={
            "src/server.rs": ("server.rs", SERVERS),
            "src/http.rs": ("http.rs", ("feed", "fanout")),
        },
        most_threads=10_000,
    ),
    Language(
        name="c",
        title="C",
        model=_THREADS,
        queue="64",
        scheduler="the kernel's",
        parallel=True,
        runtime="""[runtime.c]
executable = ["cc", "gcc", "clang"]
version    = ["{runtime}", "-dumpversion"]
install    = { debian = ["gcc", "libc6-dev"] }
""",
        build_each=(
            *("{runtime}", "-D_GNU_SOURCE", "-O2", "-Wall", "-pthread"),
            *("-o", "{build}/{workload}", "{workload}.c"),
        ),
        command=("{build}/{workload}",),
        program="{workload}.c",
        source="{workload}.c",
        shared={"arguments.h": "arguments.h"},
        helpers={
            "server.h": ("server.h", SERVERS),
            "http.h": ("http.h", ("feed", "fanout")),
        },
        most_threads=10_000,
    ),
    Language(
        name="javascript",
        family="event-loop",
        title="JavaScript on Node.js",
        model="async functions on one event loop",
        queue="unbounded",
        scheduler="cooperative",
        runtime="""[runtime.node]
executable = ["node", "nodejs"]
version    = ["{runtime}", "--version"]
# The program that is really started, where a version manager puts a script in front.
locate     = ["{runtime}", "--print", "process.execPath"]
minimum    = "18"
install    = { debian = ["nodejs"] }
""",
        command=("{runtime}", "{workload}.js"),
        program="{workload}.js",
        source="{workload}.js",
        shared={"arguments.js": "arguments.js"},
        computing="worker threads for what computes",
    ),
    Language(
        name="cpp",
        title="C++",
        model=_THREADS,
        queue="unbounded",
        scheduler="the kernel's",
        parallel=True,
        runtime="""[runtime.cpp]
executable = ["c++", "g++", "clang++"]
version    = ["{runtime}", "-dumpversion"]
install    = { debian = ["g++"] }
""",
        build_each=(
            *("{runtime}", "-std=c++17", "-O2", "-Wall", "-pthread"),
            *("-o", "{build}/{workload}", "{workload}.cpp"),
        ),
        command=("{build}/{workload}",),
        program="{workload}.cpp",
        source="{workload}.cpp",
        shared={"arguments.hpp": "arguments.hpp"},
        helpers={
            "queue.hpp": ("queue.hpp", ("batch", "jobs", "fanout")),
            "server.hpp": ("server.hpp", SERVERS),
            "http.hpp": ("http.hpp", ("feed", "fanout")),
        },
        most_threads=10_000,
    ),
    Language(
        name="java",
        title="Java",
        model=_THREADS,
        queue="unbounded",
        scheduler="the kernel's",
        parallel=True,
        runtime="""[runtime.jdk]
executable = ["$JAVA_HOME/bin/java", "java", "/usr/lib/jvm/*/bin/java"]
# A runtime without the compiler prints no version.
version    = ["{runtime}", "--module", "jdk.compiler/com.sun.tools.javac.Main", "--version"]
minimum    = "11"
install    = { debian = ["default-jdk-headless"] }
""",
        build=(
            *("{runtime}", "--module", "jdk.compiler/com.sun.tools.javac.Main"),
            *("-d", "{build}", "{sources}"),
        ),
        command=("{runtime}", "-cp", "{build}", "{Workload}"),
        # Otherwise the heap grows to a quarter of the machine's memory, whatever the program needs.
        commands={"batch": ("{runtime}", "-Xmx128m", "-cp", "{build}", "{Workload}")},
        program="{Workload}.java",
        source="{Workload}.java",
        shared={"Arguments.java": "Arguments.java"},
        helpers={"Web.java": ("Web.java", ("feed", "fanout"))},
        most_threads=10_000,
    ),
    Language(
        name="erlang",
        family="actors",
        title="Erlang",
        model="a process for each unit and each connection, with a mailbox",
        queue="unbounded",
        scheduler="preemptive",
        parallel=True,
        runtime="""[runtime.otp]
executable = ["erl"]
version    = ["{runtime}", "-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."]
minimum    = "24"
install    = { debian = ["erlang-base", "erlang-inets"] }
""",
        build=("erlc", "-o", "{build}", "{sources}"),
        # With the default, `no_time_warp`, timers can be 1 % early.
        command=(
            *("{runtime}", "-noshell", "+S", "{cores}:{cores}", "+P", "2000000", "+C", "multi_time_warp"),
            *("-pa", "{build}", "-s", "{workload}", "main", "-extra"),
        ),
        program="{workload}.erl",
        source="{workload}.erl",
        shared={"arguments.erl": "arguments.erl"},
        helpers={"http.erl": ("http.erl", ("feed", "fanout"))},
    ),
    Language(
        name="elixir",
        family="actors",
        title="Elixir",
        model="a process for each unit and each connection, with a mailbox",
        queue="unbounded",
        scheduler="preemptive",
        parallel=True,
        runtime="""[runtime.elixir]
executable = ["elixir"]
version    = ["{runtime}", "--short-version"]
minimum    = "1.14"
install    = { debian = ["elixir"] }
""",
        build=("elixirc", "-o", "{build}", "{sources}"),
        # As for Erlang.
        command=(
            *("{runtime}", "--erl", "+S {cores}:{cores} +P 2000000 +C multi_time_warp"),
            *("-pa", "{build}", "-e", "{Workload}.main()"),
        ),
        program="{workload}.ex",
        source="{workload}.ex",
        shared={"arguments.ex": "arguments.ex"},
        helpers={"http.ex": ("http.ex", ("feed", "fanout"))},
    ),
    Language(
        name="ruby",
        title="Ruby",
        model=_THREADS,
        queue="unbounded",
        scheduler="the kernel's",
        runtime="""[runtime.ruby]
executable = ["ruby"]
version    = ["{runtime}", "-e", "print RUBY_VERSION"]
# The program that is really started, where a version manager puts a script in front.
locate     = ["{runtime}", "-e", "print RbConfig.ruby"]
minimum    = "3.0"
install    = { debian = ["ruby"] }
""",
        command=("{runtime}", "{workload}.rb"),
        program="{workload}.rb",
        source="{workload}.rb",
        shared={"arguments.rb": "arguments.rb"},
        helpers={
            "server.rb": ("server.rb", SERVERS),
            "http.rb": ("http.rb", ("feed", "fanout")),
        },
        most_threads=10_000,
    ),
)

# By their names.
LANGUAGES = {language.name: language for language in _ALL}
# Other names that people use.
ALIASES = {
    "js": "javascript",
    "node": "javascript",
    "c++": "cpp",
    "golang": "go",
    "py": "python",
    "rb": "ruby",
}
