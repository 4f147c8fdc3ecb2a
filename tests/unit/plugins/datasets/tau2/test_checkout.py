"""Verdicts next to those of τ²-bench's own evaluator, from a checkout."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trialbed.records import Query
from trialbed_plugins.datasets.tau2.driver import Tau2Driver

Calls = list[tuple[str, dict[str, Any], str]]
"""The name, the arguments and the caller of each."""


@pytest.fixture
def real_checkout(data_dir: Path) -> Path:
    """A checkout of τ²-bench with its environment; tests that need it skip where it is absent."""
    data = os.environ.get("TRIALBED_TEST_DATA", Path(__file__).resolve().parents[6] / "shared" / "data")
    folder = Path(data) / "tau2-bench"
    if not (folder / ".venv").is_dir():
        pytest.skip(f"τ²-bench is not at {folder}, with .venv; set TRIALBED_TEST_DATA to the folder that holds it")
    Tau2Driver().import_folder(folder, data_dir)
    return folder


@pytest.mark.slow(60)
@pytest.mark.parametrize(("domain", "tasks"), [("retail", 114), ("airline", 50), ("telecom", 114)])
@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.matrix)])
def test_every_verdict_is_that_of_its_own_evaluator(
    real_checkout: Path, data_dir: Path, every: int, domain: str, tasks: int
) -> None:
    if domain not in Tau2Driver().test_sets(data_dir):
        pytest.skip(f"the checkout has no database or tasks of {domain}")
    dataset = Tau2Driver().open(domain, data_dir)
    assert len(dataset.queries()) == tasks
    body = next(iter(dataset.functions.values()))
    lines, verdicts = [], []
    for query in dataset.queries()[::every]:
        for calls in variants(query):
            environment = body.make_owner(query.initial_state)
            made = [{"name": name, "arguments": given, "requestor": by} for name, given, by in calls]
            answers = [environment.ask("call", **call) for call in made]
            answered = [{**call, **answer} for call, answer in zip(made, answers, strict=True)]
            lines.append(json.dumps({"task": query.query_id, "calls": answered}))
            verdicts.append(environment.state() == query.final_state)
            body.owner.idle.append(environment)
        environment.close()
        body.owner.idle.clear()
    python, program = real_checkout / ".venv" / "bin" / "python", Path(__file__).with_name("evaluator.py")
    given = {"input": "\n".join(lines), "capture_output": True, "text": True, "check": True}
    variables = {**os.environ, "TAU2_DATA_DIR": str(real_checkout / "data")}
    said = subprocess.run([python, program, domain], env=variables, **given).stdout
    found = [json.loads(line) for line in said.split()]
    assert verdicts == found
    assert {*found} == {True, False}


def variants(query: Query) -> Iterator[Calls]:
    """Yield the expected calls, none, these without one of them, with one twice, and with one wrong argument."""
    calls: Calls = [(call.api.api_name, call.arguments or {}, "assistant") for call in query.gold_calls]
    for call in reversed(query.user_calls):
        calls.insert(call.after, (call.api.api_name, call.arguments or {}, "user"))
    yield calls
    yield []
    for place, (name, given, by) in enumerate(calls):
        before, after = calls[:place], calls[place + 1 :]
        yield before + after
        yield [*before, calls[place], calls[place], *after]
        for argument, value in given.items():
            yield [*before, (name, {**given, argument: wrong(value)}, by), *after]


def wrong(value: Any) -> Any:
    if isinstance(value, list):
        return value[:-1] if value else ["1"]
    return f"{value[:-1]}7" if isinstance(value, str) else None
