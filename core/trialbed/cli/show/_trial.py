"""A trial as the wire saw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import print_json
from trialbed.cli.show._conversation import claims, conversation, findings, scores
from trialbed.cli.show._text import Line, is_cut, printed_lines
from trialbed.report.inspection import TrialProblem, end_text, expected_lines, problems

if TYPE_CHECKING:
    from trialbed.records import Annotation, Query, Run, ToolSpec, TrialResult
    from trialbed.store import StoredRun, StoredTrial


SHOWN = 5
"""Tools that are named in a line."""


def show_trial(run: StoredRun, trial: StoredTrial, query: Query | None, *, full: bool, as_json: bool) -> None:
    """Print a trial.

    Args:
        query: its task, where the dataset is within reach.
        full: show long texts in full.
    """
    result, tools = trial.result, run.tools(trial.key.query_id, trial.key.framework)
    found = problems(result, tools, query)
    if as_json:
        print_json(_document(run, result, found, query, tools))
        return
    lines = [*_lines(run, result, found, query), *_notes(_annotation(run, result))]
    for text in printed_lines(lines, full=full):
        click.echo(text)
    if not full and is_cut(lines):
        click.echo("\nLong texts are cut: --full shows them, and --json all that the store holds.")


def trial_text(run: Run, result: TrialResult, tools: Sequence[ToolSpec], query: Query) -> str:
    """Return a trial as the command prints it."""
    return "\n".join(printed_lines(list(_lines(run, result, problems(result, tools, query), query)), full=False))


def _lines(
    run: StoredRun | Run, result: TrialResult, found: Sequence[TrialProblem], query: Query | None
) -> Iterator[Line]:
    yield from _head(run, result)
    if query is not None:
        expected = [Line(f"{label}: {text}", 1) for label, text in expected_lines(query)]
        yield from _title("Task", [Line(query.text, 1), *expected])
    yield from _title("What went wrong", list(_problem_lines(found)))
    yield from _title("What the server saw", list(conversation(result.wire)))
    answer = result.outcome.answer
    if answer is not None:
        ended = answer.finish or "did not finish"
        counted = ended if result.status == "answered" else "does not count, as the trial failed"
        yield from _title(f"Answer ({counted})", [Line(answer.final_answer or "(empty)", 1)])
    if result.verified is not None:
        yield from _title("What was found", list(findings(result.verified)))
        return
    yield from _title("What the agent claims", list(claims(result)))
    yield from _title("Scores", scores(result) or [Line("None, as the trial failed or was not measured.", 1)])
    failure = result.outcome.failure
    if failure is not None and failure.detail:
        yield from _title("Details of the failure", [Line(failure.detail, 1)])


def _head(run: StoredRun | Run, result: TrialResult) -> Iterator[Line]:
    key, timing = result.key, result.timing
    repeat = f", repeat {key.repeat}" if run.config.repeat > 1 else ""
    attempt = f", attempt {result.attempt}" if result.attempt else ""
    failure = f" ({result.outcome.failure.kind})" if result.outcome.failure else ""
    yield Line(f"{key.framework} on query {key.query_id}{repeat}{attempt}: {end_text(result)}{failure}")
    parts = {"model": timing.model, "tools": timing.tool, "framework": timing.framework, "waiting": timing.waiting}
    times = ", ".join(f"{name} {time:.3f}" for name, time in parts.items() if time or name != "waiting")
    model = run.config.of(result.key.framework).model
    yield Line(f"run {run.run_id}, model {model}, seed {result.seed}; {timing.wall:.3f} s: {times}")
    yield from _filled_up(result)


def _filled_up(result: TrialResult) -> Iterator[Line]:
    """The tools on offer that the selector's model did not choose, where there are any."""
    names = result.topped_up_tools
    if names:
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        shown = ", ".join(names[:SHOWN])
        yield Line(f"tools: {len(result.selected_tools)}, of which {len(names)} fill up the choice: {shown}{more}")


def _title(title: str, lines: Sequence[Line]) -> Iterator[Line]:
    yield from (Line(""), Line(title), *lines)


def _annotation(run: StoredRun, result: TrialResult) -> Annotation | None:
    key = result.key
    return run.annotations.get((key.framework, key.query_id, key.repeat))


def _notes(said: Annotation | None) -> Iterator[Line]:
    if said is not None:
        parts = {"rating": said.rating, "note": said.note, "right answer": said.correction}
        yield from _title("Noted since the run", [Line(f"{name}: {text}", 1) for name, text in parts.items() if text])


def _problem_lines(found: Sequence[TrialProblem]) -> Iterator[Line]:
    if not found:
        yield Line("Nothing that the wire or a score shows.", 1)
    for number, problem in enumerate(found, 1):
        yield Line(f"{number}. {problem.where}: {problem.what}", 1)
        yield from (Line(f"{name}: {text}", 3) for name, text in problem.details)


def _document(
    run: StoredRun, result: TrialResult, found: Sequence[TrialProblem], query: Query | None, tools: Sequence[ToolSpec]
) -> dict[str, Any]:
    """A trial as JSON: all that the store holds of it, its task, and what went wrong."""
    said = _annotation(run, result)
    return {
        "run_id": run.run_id,
        "model": run.config.of(result.key.framework).model,
        "query": query.model_dump(mode="json", exclude={"apis"}) if query else None,
        "status": result.status,
        "problems": [problem.as_json() for problem in found],
        "annotation": said.model_dump(mode="json", include={"rating", "note", "correction"}) if said else None,
        "tools": [tool.model_dump(mode="json") for tool in tools],
        "trial": result.model_dump(mode="json"),
    }
