"""`ringside ask`: what matters for the reader's work, and how families of concurrency models stand there."""

import sys
from collections.abc import Sequence

from ringside.analysis.families import answer
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.cli import context, streams
from ringside.errors import RingsideError, UsageError
from ringside.render.export import documents
from ringside.render.text import markdown, terminal
from ringside.render.text.command import with_store


def ask(words: Sequence[str], form: str | None = None, store: str | None = None) -> int:
    """Answer the questions that concern any of these words, or all."""
    questions = context.catalogue().questions()
    known = dict.fromkeys(word for question in questions for word in question.concerns)
    for word in words:
        if word not in {*known, *(question.name for question in questions)}:
            raise UsageError(f"no question concerns `{word}`; known: {', '.join(known)}")
    questions = [each for each in questions if not words or {*words} & {each.name, *each.concerns}]
    experiments = {each.experiment for question in questions for each in question.figures}
    analyses: list[RunAnalysis] = []
    storage = context.open_runs(
        store, "questions", "ringside run questions", lambda run: run.trials and run.experiment in experiments
    )
    newest = {each.experiment: each.id for each in storage.summaries() if each.ended_at and each.trials}
    for experiment in sorted(experiments & newest.keys()):
        try:
            analyses.append(analysis_of(storage, storage.run(newest[experiment])))
        except RingsideError as error:
            streams.say(f"run {newest[experiment]} is left out: {error}")
    answers = answer(questions, analyses)
    if form == "json":
        sys.stdout.write(documents.as_json(documents.questions_document(answers)))
    elif form == "markdown":
        sys.stdout.write(markdown.render_questions(answers))
    else:
        terminal.show_questions(answers, context.stdout_console())
    unmeasured = (part for each in answers for part in each.parts if not part.standing)
    if missing := dict.fromkeys(part.figure.experiment for part in unmeasured):
        name = next(iter(missing)) if len(missing) == 1 else "questions"
        streams.say(f"not measured here: {', '.join(missing)}; `{with_store('run', name)}` measures it")
    return 0
