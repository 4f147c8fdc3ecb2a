"""Trials as samples, and metrics of them as scores."""

from __future__ import annotations

from typing import Any

from support.scoring import api_call, context, gold_call, model_call, sent_call

from trialbed import scorer
from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import tool_call_accuracy, trial_sample

GOLD = [gold_call("a", city="Pelluin", days=3), gold_call("b", id="X1")]


def sample(trial: Any, **more: Any) -> Any:
    return trial_sample(trial.query, trial.tools, trial.wire, trial.answer, unasked=trial.unasked, **more)


def test_a_trial_is_a_sample_with_the_tools_names() -> None:
    asked = [model_call(sent=[sent_call("b", "{", "invalid json")])]
    found = sample(context(GOLD, [api_call("a", {"city": "Pelluin"}, response={"ok": 1}, started=1)], asked))
    assert found.reference == (ToolCall("t_a", {"city": "Pelluin", "days": 3}), ToolCall("t_b", {"id": "X1"}))
    assert [(call.name, call.args) for call in found.calls] == [("t_b", {}), ("t_a", {"city": "Pelluin"})]
    assert "{" in found.calls[0].problem
    assert [message.role for message in found.messages] == ["user", *["assistant", "tool"] * 2, "assistant"]
    assert found.messages[-2].content == '{"ok": 1}'


def test_a_trial_that_failed_has_no_calls_and_no_messages() -> None:
    trial = context(GOLD, [api_call("a")])
    found = trial_sample(trial.query, trial.tools, trial.wire, None)
    assert (found.calls, found.messages, found.id) == ((), None, "1")


async def test_a_metric_scores_trials() -> None:
    @scorer
    def flexible(trial: Any) -> float:
        return tool_call_accuracy(sample(trial), order="flexible").value

    trial = context(GOLD, [api_call("b", {"id": "X1"}), api_call("a", {"city": "pelluin", "days": 4})])
    (score,) = await flexible.score_trial(trial)
    assert (score.name, score.value) == ("flexible", 0.75)
