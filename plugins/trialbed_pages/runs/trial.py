"""One trial: what happened when, what was said, and what went wrong."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from trialbed.records import IN_PROCESS, ModelCall, Query, TrialResult
from trialbed.report import trial_name
from trialbed.report.inspection import Exchange, ModelExchange, ToolExchange, api_name, as_text, exchanges, problems
from trialbed.store import StoredRun, StoredTrial
from trialbed.views import BarSpan, Timeline, printable
from trialbed.wire.redaction import shown_url

LANES = ("model", "tools", "framework")

LEAST = 0.0005
"""Seconds that a gap between two exchanges lasts to be drawn as the framework's."""


def trial_page(run: StoredRun, trial: StoredTrial, query: Query | None) -> dict[str, Any]:
    """What the page of a trial shows.

    Args:
        query: its task, where that is known.
    """
    result, tools = trial.result, run.tools(trial.key.query_id)
    found = exchanges(result.wire)
    label = trial_name(trial.key.framework, trial.key.query_id, trial.key.repeat)
    attempts = run.attempts(framework=trial.key.framework, query_id=trial.key.query_id, repeat=trial.key.repeat)
    return {
        "run": run,
        "trial": trial,
        "result": result,
        "label": label,
        "query": query,
        "problems": problems(result, tools, query),
        "exchanges": [shown(one, begin_of(result, found)) for one in found],
        "timeline": timeline(result, found),
        "answer": result.outcome.answer,
        "scores": result.scores,
        "attempts": sorted(own.attempt for own in attempts),
        "others": [name for name in run.config.frameworks if name != trial.key.framework],
        "repeats": range(run.config.repeat),
        "tools": tools,
        "show_command": as_command(["bench", "show", run.run_id, label]),
        "run_command": run_command(run, trial),
    }


def shown(one: Exchange, begin: float) -> dict[str, Any]:
    """An exchange as the template takes it.

    Args:
        begin: seconds from the agent's beginning to its first exchange.
    """
    if isinstance(one, ToolExchange):
        call = one.call
        return {
            "kind": "api",
            "id": f"call-{one.place}",
            "place": one.place,
            "at": begin + one.at,
            "call": call,
            "name": api_name(call),
            "arguments": as_text(call.arguments),
            "response": "" if call.response is None else as_text(call.response),
            "bad": bool(call.error or call.status != 200),
        }
    return {
        "kind": "model",
        "id": f"request-{one.place}",
        "place": one.place,
        "at": begin + one.at,
        "call": one.call,
        "one": one,
        "bad": _failed(one.call),
    }


def timeline(result: TrialResult, found: Sequence[Exchange]) -> Timeline:
    """Who was at work when, from the agent's beginning to its end: between the exchanges, it is the framework."""
    begin = begin_of(result, found)
    spans = [
        BarSpan(
            "model" if isinstance(one, ModelExchange) else "tools",
            f"request {one.place}" if isinstance(one, ModelExchange) else f"call {one.place}, {api_name(one.call)}",
            begin + one.at,
            one.call.duration,
            _failed(one.call) if isinstance(one, ModelExchange) else bool(one.call.error),
        )
        for one in found
    ]
    title = "Who was at work, in seconds from the beginning of the agent"
    return Timeline(title, LANES, [*spans, *_gaps(spans, result.outcome.wall_time)], result.outcome.wall_time)


def begin_of(result: TrialResult, found: Sequence[Exchange]) -> float:
    """Seconds from the agent's beginning to its first exchange, as far as the clocks of both processes agree."""
    started = min((one.call.started for one in found), default=0.0)
    begin = (result.wire.opened_at - result.outcome.started_at).total_seconds() + started
    return begin if 0 <= begin <= result.outcome.wall_time else 0.0


def _gaps(spans: Sequence[BarSpan], end: float) -> Iterator[BarSpan]:
    """The times in which no exchange was under way."""
    until = 0.0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start - until > LEAST:
            yield BarSpan("framework", "at work", until, span.start - until)
        until = max(until, span.start + span.length)
    if end - until > LEAST:
        yield BarSpan("framework", "at work", until, end - until)


def _failed(call: ModelCall) -> bool:
    return bool(call.error) or not 200 <= call.status < 300


def run_command(run: StoredRun, trial: StoredTrial) -> str | None:
    """Return the command that runs the trial's query again, with the run's main settings.

    None for an agent that was an object of the program that made the run.
    """
    config, key = run.config, trial.key
    if any(info.name == key.framework and info.adapter == IN_PROCESS for info in run.frameworks):
        return None
    program = config.command(key.framework)
    agent = ["-f", key.framework] if program is None else ["--command", f"{key.framework}={program}"]
    words = ["bench", "run", *agent, "-d", config.dataset, "--query-id", str(key.query_id)]
    words += ["--model", config.model, "--seed", str(config.seed)]
    words += ["--base-url", shown_url(config.base_url)] if config.base_url else []
    words += ["--temperature", f"{config.temperature:g}"] if config.temperature is not None else []
    words += ["--repeat", str(config.repeat)] if config.repeat > 1 else []
    return as_command(words)


def as_command(words: Sequence[str]) -> str:
    """Words as a command for a shell: quoted, as ids and names come from elsewhere, and on one line."""
    return printable(shlex.join(words))
