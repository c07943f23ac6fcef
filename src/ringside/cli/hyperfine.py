"""hyperfine's options and what `vs` makes of each: one list for the answers to options that `vs` does not
have, and for the table in docs/COMMANDS.md. `python -m ringside.cli.hyperfine` prints that table."""

from __future__ import annotations

from dataclasses import dataclass

SAME = "the same"


@dataclass(frozen=True, slots=True)
class Flag:
    """An option of hyperfine, as its help names it, and what holds in `vs`. `answer`: the one line for a
    user of an option that `vs` does not have."""

    name: str
    here: str
    answer: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The ways to write it: `-w`, `--warmup`."""
        return tuple(word.split()[0] for word in self.name.split(", "))


# In the order of hyperfine 1.20's help, its two hidden options last.
FLAGS = (
    Flag("-w, --warmup NUM", f"{SAME}; default: 1 instead of 0"),
    Flag(
        "-m, --min-runs NUM",
        f"{SAME}; default: 7 blocks for a comparison, 10 executions for a command alone",
    ),
    Flag("-M, --max-runs NUM", f"{SAME}; also `--blocks`"),
    Flag("-r, --runs NUM", f"{SAME}: `--blocks NUM --until end`"),
    Flag(
        "-s, --setup CMD",
        "once for each command and combination of parameters, all of them before the first block, because "
        "commands alternate: what one builds must not overwrite what another has built "
        "(`--setup 'make CC={cc} O=build-{cc}'`)",
    ),
    Flag(
        "--reference CMD",
        f"{SAME}; it is executed in every block, with parameters at every point. Without it ratios are over "
        "the first command, not over the fastest",
    ),
    Flag("--reference-name CMD", SAME),
    Flag("-p, --prepare CMD", f"{SAME}; before warm-ups too"),
    Flag("-C, --conclude CMD", f"{SAME}; after a failed execution too"),
    Flag("-c, --cleanup CMD", f"{SAME}, after the last block; after a failure or Ctrl-C too"),
    Flag("-P, --parameter-scan VAR MIN MAX", SAME),
    Flag("-D, --parameter-step-size DELTA", SAME),
    Flag("-L, --parameter-list VAR VALUES", SAME),
    Flag(
        "-S, --shell SHELL",
        "`--shell=SHELL`, with `none` and `default` too. `-S` and `--shell` alone mean `sh`, and never take "
        "the next word. Without either, commands are executed without a shell, and the time of "
        "the shell's start is not subtracted",
    ),
    Flag("-N", f"{SAME}; the default. Given, it also allows words like `&&` as arguments of the program"),
    Flag("-i, --ignore-failure[=MODE]", SAME),
    Flag("--style TYPE", SAME),
    Flag(
        "--sort METHOD",
        f"{SAME}; `auto` has the best median first in tables, and the order of the commands in exports",
    ),
    Flag("-u, --time-unit UNIT", f"{SAME}; also `s`, `ms`, `us`"),
    Flag("--export-asciidoc FILE", f"{SAME}; ratios are those of pairs, with their intervals"),
    Flag("--export-csv FILE", SAME),
    Flag(
        "--export-json FILE",
        f"{SAME}: hyperfine's layout and keys. `--json` is another document, with every figure",
    ),
    Flag("--export-markdown FILE", f"{SAME}; ratios are those of pairs, with their intervals"),
    Flag("--export-orgmode FILE", f"{SAME}; ratios are those of pairs, with their intervals"),
    Flag("--show-output", f"{SAME}, through a pipe: programs see no terminal"),
    Flag(
        "--output WHERE",
        f"{SAME}; default: `pipe`, so that outputs can be compared, instead of `null`",
    ),
    Flag("--input WHERE", SAME),
    Flag(
        "-n, --command-name NAME",
        "names stand for commands in the order of the commands, also where there are parameters: tables and "
        "exports add those. Without a name commands are A, B, …",
    ),
    Flag("-h, --help", "common options; `vs --help all` has all of them"),
    Flag("-V, --version", "`ringside --version`", "the version is printed by `ringside --version`"),
    Flag(
        "--min-benchmarking-time SEC",
        "not there; `--time` limits the time, `--min-runs` gives a least number",
        "`--time 10s` limits the time and `--min-runs N` gives a least number of executions",
    ),
    Flag(
        "--debug-mode",
        "not there; nothing is measured but real executions",
        "there is no mode without real executions; `--runs 1` executes each command once",
    ),
)


def answer(word: str) -> str | None:
    """What to say to an option of hyperfine that `vs` does not have; None for all other words."""
    option = word.partition("=")[0]
    return next((flag.answer for flag in FLAGS if option in flag.words and flag.answer), None)


def table() -> str:
    """The table of docs/COMMANDS.md."""
    rows = [f"| `{flag.name}` | {flag.here} |" for flag in FLAGS]
    return "\n".join(["| hyperfine | `ringside vs` |", "|---|---|", *rows])


if __name__ == "__main__":
    print(table())
