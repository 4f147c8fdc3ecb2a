"""Scorers under the kit: a right one conforms, and each deliberate defect fails the check that is about it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from support.cases import for_each
from support.checked_plugins import COUNT, check

from trialbed import Score, hookimpl
from trialbed_adapter_lab.plugin_kit import PluginSubject, check_plugin


def scorer(score: Callable[[Any], Any], **more: Any) -> Any:
    @hookimpl
    def score_trial(context: Any) -> Any:
        return score(context)

    return SimpleNamespace(score_trial=score_trial, **more)


@hookimpl
def aggregate_scores(results: Sequence[Any]) -> Any:
    return {"mine": {1, 2} if not results else 1}


def one(value: Any = 1.0, name: str = "mine_score", **more: Any) -> list[Score]:
    return [Score(name=name, value=value, **more)]


def test_a_right_scorer_conforms() -> None:
    assert check("plugins", scorer(lambda context: one(float(len(context.text)), bounded=False))) == {}


@for_each(
    "thing, name",
    [
        (scorer(lambda context: one(1 / len(context.calls))), "every_trial_is_scored"),
        (scorer(lambda context: one(float(len(context.text.split()[0])), bounded=False)), "every_trial_is_scored"),
        (scorer(lambda _: [1.0]), "every_trial_is_scored"),
        (scorer(lambda context: one(float(len(context.text)))), "values_are_what_they_say"),
        (scorer(lambda _: one(float("nan"), bounded=False)), "values_are_what_they_say"),
        (scorer(lambda _: one(None)), "values_are_what_they_say"),
        (scorer(lambda _: one(float(next(COUNT)), bounded=False)), "equal_trials_score_equally"),
        (scorer(lambda _: one(random.random())), "equal_trials_score_equally"),
        (scorer(lambda _: one() + one()), "names_are_its_own"),
        (scorer(lambda _: one(name="tool_call_accuracy")), "names_are_its_own"),
        (
            scorer(lambda context: context.wire.api_calls[0].arguments.clear() or one() if context.calls else one()),
            "trials_stay_as_they_are",
        ),
        (scorer(lambda _: one(), aggregate_scores=aggregate_scores), "figures_over_trials_are_json"),
    ],
)
def test_each_defect_of_a_scorer_is_named(thing: Any, name: str) -> None:
    assert name in check("plugins", thing)


def test_a_scorer_without_descriptions_is_only_told_so() -> None:
    report = check_plugin(PluginSubject("plugins", "mine", scorer(lambda _: one())), ["scores_are_described"])
    assert report.ok
    assert [finding.outcome for finding in report.findings] == ["finding"]
