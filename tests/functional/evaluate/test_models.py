"""Models that are objects: of the calling program, and of a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.bench import bare_environment, bench_in
from support.evaluation import about

from trialbed import evaluate
from trialbed.contracts import OpenedModel
from trialbed.errors import NothingMeasured
from trialbed.models import ObjectModel
from trialbed.settings import RunSettings
from trialbed.wire import Call, ModelRequest
from trialbed_scripted import call as play
from trialbed_scripted import say, script

pytestmark = pytest.mark.slow(20)

FILE = """
from trialbed.wire import Call


class Parrot:
    def answer(self, request):
        if request.tools and not request.is_continued:
            return Call(request.tools[0].name, "{}")
        return "the model has spoken"
"""


def parrot(request: ModelRequest) -> str | Call:
    """Call the first tool, then say so."""
    return "the model has spoken" if request.is_continued or not request.tools else Call(request.tools[0].name, "{}")


def test_a_function_of_the_program_is_the_model() -> None:
    report = evaluate("reference", model=parrot, limit=2)
    assert report.run.config.cells[0].model == "parrot"
    assert report.run.config.cells[0].model_identity
    for result in report.trials():
        first, second = result.wire.model_calls
        assert (len(first.tool_calls), second.finish_reason) == (1, "stop")
        assert result.outcome.answer is not None
        assert result.outcome.answer.final_answer == "the model has spoken"


def test_an_object_of_a_file_is_the_model(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, bare_environment(tmp_path))
    (tmp_path / "mine.py").write_text(FILE)
    bench("run", "--model", "mine.py:Parrot", "--limit", 1)
    assert "model mine.py:Parrot" in bench("show", "latest", "--full").out
    shown = bench("show", "latest", "reference/1").out
    assert "the model has spoken" in shown


def test_a_script_is_the_model_until_its_last_turn() -> None:
    lines = (play("population", city="Paris"), say("2100000"))
    report = evaluate("reference", [about("Paris")], model=script(*lines))
    assert report.below(sopr_score=1.0) == []
    report = evaluate("reference", [about("Paris"), about("Oslo")], model=script(*lines), concurrency=1)
    failures = [trial.outcome.failure for trial in report if trial.outcome.failure is not None]
    assert [failure.message.partition(" for all")[0] for failure in failures] == [
        "the model failed: UsageError: the script has no further turn: it has 2"
    ]
    with pytest.raises(NothingMeasured, match="tried failed: the model failed: UsageError: the script has no further"):
        evaluate("reference", [about("Paris")], model=script(lines[0]))


class OneAtATime(ObjectModel):
    """A model that answers one request at a time."""

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        async with super().open(name, settings) as model:
            yield replace(model, at_once=1)


def test_no_more_trials_are_run_at_a_time_than_the_model_answers_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.models.ObjectModel", OneAtATime)
    working, most = 0, 0

    async def answer(request: ModelRequest) -> str:
        nonlocal working, most
        working += 1
        most = max(most, working)
        await asyncio.sleep(0.2)  # a second trial's request would come meanwhile
        working -= 1
        return "the model has spoken"

    report = evaluate("reference", model=answer, limit=4, concurrency=4)
    assert (len(list(report.trials())), most) == (4, 1)
