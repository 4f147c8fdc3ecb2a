"""A trial as the wire saw it, and its name within a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import print_json
from trialbed.errors import DataError, UsageError
from trialbed.history import read_history
from trialbed.records import score_title
from trialbed.report.inspection import (
    ModelExchange,
    ToolExchange,
    TrialProblem,
    api_name,
    as_text,
    detail_text,
    end_text,
    exchanges,
    expectation_lines,
    expected_lines,
    problems,
    reason_text,
    user_call_text,
)
from trialbed.texts import first_of
from trialbed.views import printable

if TYPE_CHECKING:
    from trialbed.records import Annotation, Query, Run, RunConfig, ToolSpec, TrialResult, WireLog
    from trialbed.store import StoredRun

QueryId = int | str


def named_attempt(run: StoredRun, trial: str, *, attempt: int | None = None) -> TrialResult:
    """Return the requested attempt of a trial, by default the attempt that counts.

    Args:
        trial: ``FRAMEWORK/TASK`` or ``FRAMEWORK/TASK/REPEAT``; if the run has one framework, it may be omitted.

    Raises:
        UsageError: it names something that the run does not have.
        DataError: the trial has not ended yet.
    """
    label, query_id, number = _parse(run, trial)
    if number >= run.config.repeat:
        raise UsageError(
            f"run {run.run_id} has no repeat {number}: they are counted from 0, and it has {run.config.repeat}"
        )
    counted = run.trial(label, query_id, number)
    if attempt is None or attempt == counted.attempt:
        return counted
    found = {one.attempt: one for one in run.attempts(framework=label, query_id=query_id, repeat=number)}
    if attempt not in found:
        raise DataError(f"the trial has no attempt {attempt}; it has {', '.join(map(str, sorted(found)))}")
    return found[attempt]


def query_meant(config: RunConfig, text: str) -> QueryId | None:
    """Return the query with this id. Numbers come before texts; in quotes, only the text is meant."""
    numbers: list[QueryId] = [known for known in config.query_ids if not isinstance(known, str) and str(known) == text]
    texts = [known for known in config.query_ids if isinstance(known, str) and text in (known, json.dumps(known))]
    return next(iter([*numbers, *texts]), None)


def _parse(run: StoredRun, trial: str) -> tuple[str, QueryId, int]:
    """Return framework, query and repeat, which is 0 by default.

    Names of frameworks and queries may have slashes, so every reading is tried.
    """
    for label, rest in _split(run, trial):
        before, _, last = rest.rpartition("/")
        for text, repeat in ((rest, 0), (before, int(last) if last.isdecimal() else None)):
            query_id = query_meant(run.config, text)
            if query_id is not None and repeat is not None:
                return label, query_id, repeat
    first, _, rest = trial.partition("/")
    if rest:
        run.framework(first)  # says which frameworks there are, if it is none of them
        raise UsageError(_no_query(run, rest))
    example = f"{run.config.frameworks[0]}/{run.config.query_ids[0]}"
    raise UsageError(f"{trial!r} names no trial of run {run.run_id}: write FRAMEWORK/TASK, such as {example}")


def _split(run: StoredRun, trial: str) -> Iterator[tuple[str, str]]:
    """Yield a framework of the run, and what follows it in the name of a trial."""
    for place, character in enumerate(trial):
        if character == "/":
            try:
                yield run.framework(trial[:place]), trial[place + 1 :]
            except UsageError:
                continue
    if len(run.config.frameworks) == 1:
        yield run.config.frameworks[0], trial


def _no_query(run: StoredRun, text: str) -> str:
    from trialbed.views import printable

    ids = [printable(str(query_id)) for query_id in run.config.query_ids]
    shown = f"{', '.join(ids[:10])}{' …' if len(ids) > 10 else ''}"
    return f"run {run.run_id} has no task {text}; its tasks are {shown}"


INDENT = "  "

LONGEST = 400
"""Characters of a text that are shown unless all of it is asked for."""

MOST_LINES = 8
"""Lines of it."""


@dataclass(frozen=True)
class Line:
    """A text, which may itself have several lines, and how far it is indented."""

    text: str
    depth: int = 0


def printed_lines(lines: Iterable[Line], *, full: bool) -> Iterator[str]:
    """Yield harmless, indented lines to print; long lines are cut unless all is asked for.

    All words of agents, models and Apis are shown, but they cannot move the cursor, change colours or the title, or
    pass for another line's beginning.
    """
    for line in lines:
        text = line.text if full else _cut(line.text)
        first, *rest = (printable(part.expandtabs(4)) for part in text.split("\n"))
        yield f"{INDENT * line.depth}{first}"
        yield from (f"{INDENT * (line.depth + 1)}{part}" for part in rest)


def is_cut(lines: Iterable[Line]) -> bool:
    """Return whether any of the lines is shown in part only."""
    return any(_cut(line.text) != line.text for line in lines)


def _cut(text: str) -> str:
    shown = "\n".join(text[:LONGEST].split("\n")[:MOST_LINES])
    left = len(text) - len(shown)
    return text if not left else f"{shown} … [{left:,} more characters]"


SHOWN = 5
"""Tools that are named in a line."""


def show_trial(run: StoredRun, result: TrialResult, query: Query | None, *, full: bool, as_json: bool) -> None:
    """Print a trial.

    Args:
        query: its task, if the dataset is within reach.
        full: show long texts in full.
    """
    tools = run.tools_of(result)
    found = problems(result, tools)
    if as_json:
        print_json(_document(run, result, found, query, tools))
        return
    lines = [*_lines(run, result, found, query), *_notes(run.annotation_of(result.key))]
    for text in printed_lines(lines, full=full):
        click.echo(text)
    if not full and is_cut(lines):
        click.echo("\nLong texts are cut: --full shows them, and --json all that the store holds.")


def trial_text(run: Run, result: TrialResult, tools: Sequence[ToolSpec], query: Query) -> str:
    """Return a trial as the command prints it."""
    return "\n".join(printed_lines(list(_lines(run, result, problems(result, tools), query)), full=False))


def _lines(
    run: StoredRun | Run, result: TrialResult, found: Sequence[TrialProblem], query: Query | None
) -> Iterator[Line]:
    yield from _head(run, result)
    if query is not None:
        expected = [Line(f"{label}: {text}", 1) for label, text in expected_lines(query)]
        yield from _title("Task", [Line(query.text, 1), *expected])
    if result.wire.turns:
        yield from _title("Conversation", list(_turns(result.wire, query.policy if query else "")))
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


def _turns(wire: WireLog, policy: str) -> Iterator[Line]:
    """Yield the user's messages, the agent's answers, and the findings on the history of each turn."""
    for turn, found in zip(wire.turns, read_history(wire, policy), strict=True):
        yield Line(f"user{f' ({turn.why})' if turn.why else ''}: {turn.text}", 1)
        yield Line(f"agent: {turn.answer or '(no answer)'}", 1)
        yield Line(found.text, 2)
        yield from (Line(f"the user: {user_call_text(call)}", 1) for call in turn.user_calls)
        if turn.end:
            yield Line(f"end: {turn.end}", 1)


def _head(run: StoredRun | Run, result: TrialResult) -> Iterator[Line]:
    key, timing = result.key, result.timing
    repeat = f", repeat {key.repeat}" if run.config.repeat > 1 else ""
    attempt = f", attempt {result.attempt}" if result.attempt else ""
    failure = f" ({result.outcome.failure.kind})" if result.outcome.failure else ""
    yield Line(f"{key.framework} on task {key.query_id}{repeat}{attempt}: {end_text(result)}{failure}")
    parts = {"model": timing.model, "tools": timing.tool, "framework": timing.framework, "waiting": timing.waiting}
    times = ", ".join(f"{name} {time:.3f}" for name, time in parts.items() if time or name != "waiting")
    if any(call.source == "conversation" for call in result.wire.api_calls):
        times += " with the agent's own tools"
    model = run.config.cell(result.key.framework).model
    yield Line(f"run {run.run_id}, model {model}, seed {result.seed}; {timing.wall:.3f} s: {times}")
    if names := result.topped_up_tools:  # tools on offer that the selector's model did not choose
        shown = first_of(names, SHOWN)
        yield Line(f"tools: {len(result.selected_tools)}, of which {len(names)} fill up the choice: {shown}")


def _title(title: str, lines: Sequence[Line]) -> Iterator[Line]:
    yield from (Line(""), Line(title), *lines)


def _notes(said: Annotation | None) -> Iterator[Line]:
    if said is not None:
        told = [(name.replace("correction", "right answer"), text) for name, text in said.words.items()]
        yield from _title("Noted since the run", [Line(f"{name}: {text}", 1) for name, text in told if text])


def _problem_lines(found: Sequence[TrialProblem]) -> Iterator[Line]:
    if not found:
        yield Line("Nothing that the wire or a score shows.", 1)
    for number, problem in enumerate(found, 1):
        yield Line(f"{number}. {problem.where}: {problem.what}", 1)
        yield from (Line(f"{name}: {text}", 3) for name, text in problem.details)


def _document(
    run: StoredRun, result: TrialResult, found: Sequence[TrialProblem], query: Query | None, tools: Sequence[ToolSpec]
) -> dict[str, Any]:
    """Return a trial as JSON: everything in the store about it, its task, and its problems."""
    said = run.annotation_of(result.key)
    return {
        "run_id": run.run_id,
        "model": run.config.cell(result.key.framework).model,
        "query": query.model_dump(mode="json", exclude={"apis"}) if query else None,
        "status": result.status,
        "problems": [problem.as_json() for problem in found],
        "annotation": said.words if said else None,
        "tools": [tool.model_dump(mode="json") for tool in tools],
        "trial": result.model_dump(mode="json"),
    }


def conversation(wire: WireLog) -> Iterator[Line]:
    """Yield every request to the model, with its new messages and its answer, and every call of an Api."""
    for one in exchanges(wire):
        if isinstance(one, ToolExchange):
            yield from _api_call(one)
        else:
            yield from _model_call(one)


def _model_call(one: ModelExchange) -> Iterator[Line]:
    call = one.call
    usage = f", {call.usage.prompt_tokens:,} + {call.usage.completion_tokens:,} tokens" if call.usage else ""
    ended = f", {call.finish_reason}" if call.finish_reason else ""
    took = f"status {call.status} in {call.duration:.3f} s{usage}{ended}"
    sender = f" of agent {one.agent}" if one.agent else ""
    yield Line(f"+{one.at:.3f} s  request {one.place}{sender}: {took}", 1)
    if call.translated:
        yield Line(f"put to the model's endpoint in another dialect: {call.translated}", 2)
    for attempt in call.attempts:
        yield Line(f"repeated by the gateway after: {attempt.error or f'status {attempt.status}'}", 2)
    yield from _request(one)
    if call.error:
        yield Line(f"error: {call.error}", 2)
    yield from _response(one)


def _request(one: ModelExchange) -> Iterator[Line]:
    """Yield the messages that no earlier request had, and the tools if they have changed."""
    if one.known is None:
        yield Line(f"sent: {one.call.request}", 2)
        return
    if one.known:
        yield Line(f"({one.known} {'message' if one.known == 1 else 'messages'} as before)", 2)
    for message in one.messages:
        if message.text:
            yield Line(f"{message.role}: {message.text}", 2)
        yield from (Line(f"{message.role} asks for: {name} {given}", 2) for name, given in message.calls)
    if one.offered is not None:
        yield Line(f"offered: {', '.join(one.offered) or 'no tools'}", 2)


def _response(one: ModelExchange) -> Iterator[Line]:
    for said, text in (("answered", one.unread), ("model thinks", one.thoughts), ("model", one.text)):
        if text:
            yield Line(f"{said}: {text}", 2)
    for sent in one.call.tool_calls:
        problem = f"  [{sent.problem}]" if sent.problem else ""
        name = sent.name if sent.tool_name == sent.name else f"{sent.name} (the tool {sent.tool_name})"
        yield Line(f"model asks for: {name} {sent.arguments}{problem}", 2)


def _api_call(one: ToolExchange) -> Iterator[Line]:
    call = one.call
    offered = "" if call.offered else " (not offered)"
    source = "the agent's own tool, seen in the conversation" if call.source == "conversation" else call.provenance
    made = f", {source}" if source else ""
    status = "" if call.status == 200 else f", status {call.status}"
    yield Line(
        f"+{one.at:.3f} s  call {one.place}: {api_name(call)}{offered} in {call.duration:.3f} s{status}{made}", 1
    )
    yield Line(f"arguments: {as_text(call.arguments)}", 2)
    if call.error:
        yield Line(f"error: {call.error}", 2)
    if call.response not in (None, ""):
        yield Line(f"response: {as_text(call.response)}", 2)


def claims(result: Any) -> Iterator[Line]:
    """Yield the agent's claims."""
    answer = result.outcome.answer
    if answer is None:
        yield Line("The agent gave no answer.", 1)
        return
    if not answer.reports_calls:
        yield Line("The agent does not report its calls.", 1)
    for call in answer.calls:
        arguments = "" if call.arguments is None else f" {as_text(call.arguments)}"
        yield Line(f"called: {call.name}{arguments}", 1)
        if call.response:
            yield Line(f"response: {call.response}", 2)
    if answer.reports_calls and not answer.calls:
        yield Line("No calls.", 1)
    if answer.usage is not None:
        yield Line(f"tokens: {answer.usage.prompt_tokens:,} + {answer.usage.completion_tokens:,}", 1)
    if answer.model_turns is not None:
        yield Line(f"requests to the model: {answer.model_turns}", 1)


def scores(result: Any) -> Sequence[Line]:
    """Yield each score with its evidence, by the names that tables have."""
    width = max((len(score_title(score.name)) for score in result.scores), default=0)
    return [line for score in result.scores for line in _score(score, width)]


def _score(score: Any, width: int) -> Iterator[Line]:
    value = "-" if score.value is None else f"{score.value:.4g}"
    name = score_title(score.name)
    yield Line(f"{name:<{width}}  {' '.join(filter(None, (value, score.label)))}{_reason(score)}", 1)
    for one in expectation_lines(score):
        yield Line(one, 2)


def _reason(score: Any) -> str:
    reason, method = reason_text(score), score.detail.get("method")
    if not reason:
        found = detail_text(score)
        return f": {found}" if found else ""
    by_judge = method and score.failure is None and method != "expectations"
    return f": {reason}" + (f" (judge {method})" if by_judge else "")


def findings(verified: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the end of a verification's case, and the problems of the endpoint's answer."""
    yield Line(f"outcome: {verified['outcome']}", 1)
    for found in verified["findings"]:
        evidence = f": {found['evidence']}" if found["evidence"] else ""
        yield Line(f"{found['kind']} ({found['severity']}): {found['message']}{evidence}", 1)
