"""Trials as samples, and the plugin that scores them."""

from __future__ import annotations

from typing import Any

import pluggy
import pytest
from support.scoring import api_call, context, gold_call, model_call, sent_call

from trialbed import hookspecs
from trialbed.errors import UsageError
from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import ScoringOptions, TrialMetrics, replayed, trial_sample

GOLD = [gold_call("a", city="Pelluin", days=3), gold_call("b", id="X1")]
STEPS = {
    "infer_goal_outcome": {"user_goal": "g", "end_state": "e"},
    "compare_outcome": {"verdict": "1", "reason": "It is."},
}


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


async def test_the_plugin_scores_trials() -> None:
    trial = context(GOLD, [api_call("a", {"city": "pelluin", "days": 4}), api_call("b", {"id": "X1"})])
    (score,) = await TrialMetrics(["tool_call_accuracy"], prefix="my_").score_trial(trial)
    assert (score.name, score.value) == ("my_tool_call_accuracy", 0.75)
    assert score.detail["calls"][0]["arguments"][1]["name"] == "days"


async def test_metrics_that_ask_a_model() -> None:
    plugin = TrialMetrics(
        ["agent_goal_accuracy", "topic_adherence"], ScoringOptions(model=replayed(STEPS)), ["weather"]
    )
    good, failed = await plugin.score_trial(context(GOLD))
    assert (good.name, good.value, good.detail["reason"]) == ("agent_goal_accuracy", 1.0, "It is.")
    assert (failed.name, failed.value) == ("topic_adherence", None)
    assert failed.failure is not None
    assert "topic_extraction" in failed.failure.message


async def test_a_metric_without_what_it_needs_gives_no_score() -> None:
    assert await TrialMetrics(["topic_adherence"]).score_trial(context(GOLD)) == []


def test_it_is_a_plugin_that_declares_its_scores() -> None:
    manager = pluggy.PluginManager("trialbed")
    manager.add_hookspecs(hookspecs)
    manager.register(TrialMetrics(["topic_adherence"]))
    names = ["topic_adherence", "topic_adherence_precision", "topic_adherence_recall"]
    assert [[score.name for score in described] for described in manager.hook.describe_scores()] == [names]


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no metric 'bleu'"):
        TrialMetrics(["bleu"])
