"""`ringside repeat`: one trial of a run again, with all that the program writes."""

from collections.abc import Sequence

from ringside.cli import EXIT_FAILED, context, params, streams
from ringside.cli.progress import LiveProgress
from ringside.measure.host import Executor, alone
from ringside.measure.runs.trials import plain_command, repetition
from ringside.model.catalogue import Unavailable
from ringside.model.results import Outcome
from ringside.store.database import single_run
from ringside.store.plans import read_plan
from ringside.text import last_lines, one_line

# The probe keeps so much of a program's output that most programs' lines are complete.
_LINES = 200


def repeat(
    run: str, contender: str, settings: Sequence[str], outside: Sequence[str], store: str | None = None
) -> int:
    """Repeat a trial of a contender at the point of these settings, and print its output."""
    storage = context.open_store(store, create=False)
    stored = single_run(storage, run, lambda each: contender in read_plan(each).contenders)
    with LiveProgress(context.stderr_console()) as progress:
        again = repetition(
            stored,
            storage.trials(stored),
            contender,
            params.levels(settings),
            catalogue=context.catalogue(context.outside_of(stored, outside)),
            toolchain=context.toolchain(progress.on_build),
            inputs=context.inputs(progress.on_input),
            executor=Executor(),
        )
        if isinstance(again, Unavailable):
            progress.on_prepared(again)
            return EXIT_FAILED
        request = again.trials.request(*again.place, first=False)
        if again.has_changed:
            streams.say(f"{contender} has changed since run {stored.id}")
        with alone(progress.on_wait):
            trial = again.trials.trial(*again.place, first=False)
    print(one_line(f"{contender} at {trial.cell.point}: {trial.outcome}: {trial.detail}".rstrip(": ")))
    for name, phase in trial.phases.items():
        print(one_line(f"  ::phase name={name} ns={' '.join(map(str, phase))}"))
    for stream in ("stdout", "stderr"):
        if lines := last_lines(getattr(trial.report, f"{stream}_tail", ""), _LINES):
            print(f"{stream}:", *(f"  | {line}" for line in lines), sep="\n")
    kind = "the server, without its load" if request.service else "the program"
    wait = "; `yes` answers each ::await" if request.awaits else ""
    print(f"by hand ({kind}{wait}):")
    print(f"  {one_line(plain_command(request), 4000)}")
    return 0 if trial.outcome is Outcome.OK else EXIT_FAILED
