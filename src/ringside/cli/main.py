"""The command line: a function for each verb, without logic. Imports wait until a verb is chosen, so that
`--help` is quick."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import click

from ringside import __version__
from ringside.errors import RingsideError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class _Verbs(click.Group):
    """A group that names the nearest verb when one is mistyped."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            near = difflib.get_close_matches(args[0], names, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names)}"
            raise click.UsageError(f"there is no verb `{args[0]}`; {hint}")
        return super().resolve_command(ctx, args)


_store = click.option("--store", metavar="PATH|URL", help="The store [default: .ringside/ringside.sqlite].")


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="ringside %(version)s")
def cli() -> None:
    """Runs the same concurrency problems on programs in many languages, proves that each did the work,
    and says which is faster, by how much, and how sure that is.

    Begin with `ringside doctor`, then `ringside run showdown`.
    """


@cli.command()
def doctor() -> int:
    """What is here, what is missing and how to get it, how quiet the machine is."""
    from ringside.cli import doctor as verb

    return verb.doctor()


@cli.command()
@click.argument("contenders", nargs=-1)
def setup(contenders: tuple[str, ...]) -> int:
    """Install missing runtimes (as root on Debian; else name the commands) and build contenders."""
    from ringside.cli import setup as verb

    return verb.setup(contenders)


@cli.command("list")
@click.argument("kind", required=False, type=click.Choice(["workloads", "contenders", "experiments", "runs"]))
@_store
def list_(kind: str | None, store: str | None) -> int:
    """The workloads, contenders and experiments of the catalogue, or the runs of the store."""
    from ringside.cli import listing

    return listing.listing(kind, store=store)


@cli.command()
@click.argument("experiment", required=False)
@click.option("--only", multiple=True, metavar="C[,C…]", help="Only these contenders.")
@click.option(
    "--set", "settings", multiple=True, metavar="FACTOR=LEVEL[,…]", help="Other levels of a factor."
)
@click.option("--cores", metavar="N[,N…]|all", help="Numbers of CPUs; all: 1, 2, 4 … and all of them.")
@click.option("--blocks", type=click.IntRange(1, 10_000), help="Passes over all cells.")
@click.option("--until", metavar="2%", help="More blocks until each interval is narrower than this.")
@click.option("--time", metavar="5m", help="Begin no new block after this time.")
@click.option("--seed", type=int, help="Seed of the random orders [default: a new one].")
@click.option("--resume", metavar="RUN", help="Go on with a run that was cut off.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@_store
def run(**options: Any) -> int:
    """Run EXPERIMENT (a name, or the path of a TOML file) and show its tables."""
    from ringside.cli import run as verb

    return verb.run(options.pop("experiment"), **options)


@cli.command()
@click.argument("run", default="latest")
@click.option("--json", "form", flag_value="json", help="One JSON document.")
@click.option("--markdown", "form", flag_value="markdown", help="Markdown.")
@click.option("--csv", "form", flag_value="csv", help="CSV, a row for each metric of each cell.")
@_store
def show(run: str, form: str | None, store: str | None) -> int:
    """The tables of RUN, the latest if left out."""
    from ringside.cli import show as verb

    return verb.show(run, form=form or "text", store=store)


@cli.command()
@click.argument("runs", nargs=-1)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True
)
@click.option(
    "--figures", type=click.Path(path_type=Path), metavar="DIR", help="Write each plot as SVG and PNG too."
)
@_store
def report(runs: tuple[str, ...], output: Path, figures: Path | None, store: str | None) -> int:
    """One self-contained HTML page of RUNS, the latest run if left out."""
    from ringside.cli import report as verb

    return verb.report(runs, output=output, figures_to=figures, store=store)


_count = click.IntRange(1, 1_000_000)


@cli.command()
@click.argument("target")
@click.option("--connections", type=_count, help="Open at one time [default: 64; 100 streams].")
@click.option("--rate", metavar="N", help="Requests per second, whatever the server does (open loop).")
@click.option("--burst", type=_count, metavar="N", help="So many of them at one time [default: 1].")
@click.option("--poisson", is_flag=True, help="Random instants at that rate.")
@click.option("--staircase", metavar="RATE:TIME,…", help="One rate after another: 100:5s,200:5s.")
@click.option("--duration", metavar="10s", help="How long [default: 10s, unless --requests ends it].")
@click.option("--requests", type=click.IntRange(1, 10**15), help="End after so many requests.")
@click.option("--ramp", metavar="N/s", help="Connections opened per second [default: all at once].")
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Of the engine.")
@click.option("--cpus", metavar="LIST", help="CPUs for these threads, in turn: 0,2-3.")
@click.option("--io", type=click.Choice(["auto", "uring", "epoll"]), default="auto", show_default=True)
@click.option("--timeout", metavar="5s", help="For a connect, a reply, a stream's silence [default: 5s].")
@click.option("--method", metavar="NAME", help="[default: GET; POST with --body]")
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="May be repeated.")
@click.option("--body", metavar="TEXT|@FILE", help="What each request carries.")
@click.option("--close", is_flag=True, help="A connection for each request.")
@click.option("--line", metavar="TEXT", help="What a tcp target is sent [default: 1].")
@click.option("--expect-status", type=click.IntRange(200, 599), help="[default: any 2xx or 3xx]")
@click.option("--expect-body", metavar="TEXT", help="What body or line must be.")
@click.option("--expect-contains", metavar="TEXT", help="What body or line must hold.")
@click.option("--expect-pattern", metavar="REGEX", help="What body or line as a whole must match.")
@click.option("--framing", type=click.Choice(["chunk", "line"]), help="A stream's message [default: chunk].")
@click.option("--first", metavar="TEXT", help="A stream's first message: 'Welcome: {id}'.")
@click.option("--chunk", metavar="TEXT", help="Its others, from k = 1: 'Chunk {k} for {id}'.")
@click.option("--interval", metavar="1s", help="A message is due so long after the one before.")
@click.option("--due-field", metavar="TEXT", help="Text before the nanoseconds at which a message is due.")
@click.option("--vs", "versus", metavar="TARGET2", help="Compare two targets in alternating short runs.")
@click.option("--blocks", type=click.IntRange(1, 1000), help="With --vs: pairs of runs [default: 10].")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Of --poisson, of --vs's order.")
@click.option(
    "--hdr", "hdr_file", type=click.Path(path_type=Path), help="HdrHistogram's text of percentiles."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def load(**options: Any) -> int:
    """Drive load at TARGET: http://…, stream+http://… (held-open responses) or tcp://host:port (lines).

    Without --rate each connection sends its next request when the reply has come (closed loop).
    """
    from ringside.cli import load as verb

    return verb.load(options.pop("target"), **options)


@cli.command()
@click.argument("commands", nargs=-1, metavar="'CMD A' 'CMD B' …")
@click.option("-n", "--name", "names", multiple=True, metavar="NAME", help="Instead of A, B, …, in order.")
@click.option("-p", "--prepare", multiple=True, metavar="CMD", help="Before each time, unmeasured.")
@click.option("-w", "--warmup", type=click.IntRange(0, 1000), default=1, show_default=True, metavar="N")
@click.option("--input", "stdin", type=click.Path(path_type=Path), help="A file that each reads as stdin.")
@click.option("--blocks", type=click.IntRange(1, 100_000), help="So many, neither more nor fewer.")
@click.option("--until", metavar="1%", help="Until each interval is narrower [default: 2%].")
@click.option("--time", metavar="1m", help="At most so long [default: 30s, but six blocks].")
@click.option("--timeout", metavar="5m", default="5m", show_default=True, help="For one execution.")
@click.option("-S", "--shell", metavar="SHELL", is_flag=False, flag_value="sh", help="Run through it [sh].")
@click.option("-N", "no_shell", is_flag=True, help="Without a shell, which is the default here.")
@click.option("-i", "--ignore-failure", is_flag=True, help="A command that fails counts all the same.")
@click.option("--cpus", metavar="LIST", help="Pin the commands: 1 or 0,2-3.")
@click.option("--seed", type=int, help="Seed of the random orders [default: a new one].")
@click.option("--json", "form", flag_value="json", help="One JSON document, every time in it.")
@click.option("--markdown", "form", flag_value="markdown", help="Markdown.")
def vs(commands: tuple[str, ...], **options: Any) -> int:
    """Compare any commands, each written as one word: in blocks, in random order, in pairs.

    The first is the baseline. Without options it goes on until the answer is exact to 2 %, or for half a
    minute.
    """
    from ringside.cli import vs as verb

    return verb.vs(commands, **options)


@cli.command()
@click.argument("one")
@click.argument("other")
@click.option("--metric", metavar="NAME", help="Only this one [default: what the experiment compares].")
@click.option("--fail-if", "gate", metavar="slower:3%", help="Exit status 1 where OTHER is that much worse.")
@click.option("--json", "form", flag_value="json", help="One JSON document.")
@click.option("--markdown", "form", flag_value="markdown", help="Markdown.")
@_store
def compare(one: str, other: str, **options: Any) -> int:
    """Compare two runs of one experiment, OTHER over ONE: versions of a runtime, branches.

    Runs at different times have no pairs: intervals are wider, by as much as the machine is known to have
    moved. Where both can run now, put them into one experiment instead.
    """
    from ringside.cli import compare as verb

    return verb.compare(one, other, **options)


@cli.command()
@click.argument("run", default="latest")
@click.option(
    "--format",
    "form",
    type=click.Choice(["pyperf", "bencher", "github-action-benchmark", "parquet"]),
    required=True,
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file instead of stdout.")
@_store
def export(run: str, form: str, output: Path | None, store: str | None) -> int:
    """RUN, the latest if left out, in the format of another tool."""
    from ringside.cli import export as verb

    return verb.export(run, form=form, output=output, store=store)


def main() -> None:
    """Entry point: every known error is one line on stderr."""
    # SIGTERM ends a run in the same order as Ctrl-C does.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if "_RINGSIDE_COMPLETE" in os.environ:
            cli.main(prog_name="ringside")
        # Not `cli.main`: that one answers a reader that went away with status 1.
        with cli.make_context("ringside", sys.argv[1:]) as context:
            status = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = error.exit_code
    except click.ClickException as error:
        status = _complain(error.format_message(), error.exit_code)
    except RingsideError as error:
        status = _complain(str(error), EXIT_USAGE)
    except (KeyboardInterrupt, click.Abort):
        status = _complain("interrupted", EXIT_INTERRUPTED)
    except click.exceptions.Exit as left:
        status = left.exit_code
    except BrokenPipeError:
        # The reader went away: not our error. The descriptor is replaced so that exit does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        status = _complain(f"{what}{error.strerror or error}", EXIT_USAGE)
    sys.exit(status if isinstance(status, int) else 0)


def _complain(text: str, status: int) -> int:
    print(f"ringside: {' '.join(text.split())}", file=sys.stderr)
    return status


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
