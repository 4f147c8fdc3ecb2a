"""Models that are objects: of the calling program, and of a file."""

from __future__ import annotations

import pytest
from support.evaluation import about

from trialbed import evaluate
from trialbed.errors import NothingMeasured
from trialbed.wire import Call, ModelRequest
from trialbed_scripted import call as play
from trialbed_scripted import say, script

pytestmark = pytest.mark.slow(20)


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
