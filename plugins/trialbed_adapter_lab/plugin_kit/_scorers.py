"""The checks of the hooks of scoring."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from trialbed.installed import PLUGIN_GROUP, offers
from trialbed.plugins import described_scores, empty_manager, register
from trialbed.records import Score, ScoreDescription
from trialbed.scoring import ScoreContext
from trialbed_adapter_lab.conformance import expect, may, must
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.plugin_kit._check import PluginSubject, expect_json, expect_kind
from trialbed_adapter_lab.plugin_kit._samples import sample_trials


def _hooks(subject: PluginSubject) -> Any:
    manager = empty_manager()
    manager.register(subject.thing, name=subject.name)
    return manager


async def _scores(subject: PluginSubject, label: str, context: ScoreContext) -> list[Score]:
    hook = _hooks(subject).hook.score_trial
    if not hook.get_hookimpls():
        raise NotTried("it scores no trials")

    async def score() -> list[Any]:
        given = [await one if inspect.isawaitable(one) else one for one in hook(context=context)]
        return [score for scores in given for score in scores]

    found: list[Score] = await subject.call(f"scores of a trial with {label}", score)
    return found


async def _each(subject: PluginSubject) -> list[tuple[str, list[Score]]]:
    return [(label, await _scores(subject, label, context)) for label, context in sample_trials().items()]


@must(
    reason="The trial's score would be a failure of your plugin.", hint="Look at answers without text, calls or tools."
)
async def every_trial_is_scored(subject: PluginSubject) -> None:
    """It gives a list of scores for every trial without failure: empty, strange, long, with failed calls."""
    for label, scores in await _each(subject):
        for score in scores:
            expect_kind(f"each score of a trial with {label}", score, Score)


@must(
    reason="Means and intervals would be wrong.",
    hint="Give bounded=False to seconds, tokens and counts; None with a failure.",
)
async def values_are_what_they_say(subject: PluginSubject) -> None:
    """A value is a finite number, from 0 to 1 where the score is bounded, and None only with a failure."""
    for label, scores in await _each(subject):
        for score in scores:
            if score.value is None:
                expect(
                    score.failure is not None, f"a failure that says why {score.name} has no value for {label}", "none"
                )
                continue
            expect(math.isfinite(score.value), f"{score.name} to be finite for {label}", repr(score.value))
            inside = not score.bounded or 0 <= score.value <= 1
            expect(inside, f"{score.name}, which is bounded, from 0 to 1 for {label}", repr(score.value))


@must(
    reason="The same trial would be scored otherwise when it is scored again.",
    hint="Keep nothing between trials; seed what is drawn.",
)
async def equal_trials_score_equally(subject: PluginSubject) -> None:
    """The scores of a trial depend on it alone: not on the trials before it, and not on chance."""
    label, context = next(iter(sample_trials().items()))
    first = await _scores(subject, label, context)
    for other in [*sample_trials().items()][1:3]:
        await _scores(subject, *other)
    again = await _scores(subject, label, replace(context))
    expect(_figures(first) == _figures(again), f"the scores {show(_figures(first))} again", show(_figures(again)))


def _figures(scores: list[Score]) -> list[tuple[str, float | None, str | None]]:
    return [(score.name, score.value, score.label) for score in scores]


@must(reason="A score whose name is taken fails.", hint="Begin the names of your scores with a prefix of your own.")
async def names_are_its_own(subject: PluginSubject) -> None:
    """The names of a trial's scores are different, and no other installed plugin has them."""
    others = _described_by_others(subject.name)
    for label, scores in await _each(subject):
        names = [score.name for score in scores]
        twice = sorted({name for name in names if names.count(name) > 1})
        expect(not twice, f"each name once for {label}", twice)
        taken = sorted({*names} & others)
        expect(not taken, "names that no other plugin has", taken)


def _described_by_others(name: str) -> set[str]:
    manager = empty_manager()
    for offer in offers(PLUGIN_GROUP):
        if offer.name != name:
            try:
                register(manager, offer)
            except Exception:  # noqa: BLE001, S112 - another plugin that is broken is not this one's fault
                continue
    return {*described_scores(manager)[0]}


@must(reason="Two plugins see the same trial.", hint="Copy what you change.")
async def trials_stay_as_they_are(subject: PluginSubject) -> None:
    """It changes nothing of the trial."""
    for label, context in sample_trials().items():
        before = _text(context)
        await _scores(subject, label, context)
        expect(_text(context) == before, f"a trial with {label} to stay as it was", "it was changed")


def _text(context: ScoreContext) -> str:
    return "".join([context.query.model_dump_json(), context.answer.model_dump_json(), context.wire.model_dump_json()])


@must(reason="Documents hold it.", hint="Put plain values into detail: texts, numbers, lists, mappings.")
async def details_are_json(subject: PluginSubject) -> None:
    """The detail of a score is JSON."""
    for label, scores in await _each(subject):
        for score in scores:
            expect_json(f"the detail of {score.name} for {label}", score.detail)


@may(reason="A misspelt --fail-under is found before a run only then.", hint="Implement describe_scores.")
async def scores_are_described(subject: PluginSubject) -> None:
    """Every score has a description, which agrees on whether it is bounded."""
    given = {score.name: score for _, scores in await _each(subject) for score in scores}
    found = {item.name: item for item in _descriptions(subject)}
    missing = sorted({*given} - {*found})
    expect(not missing, "a description of each score", f"none of {', '.join(missing)}")
    for name, score in given.items():
        expect(score.bounded == found[name].bounded, f"{name} bounded as described", score.bounded)


def _descriptions(subject: PluginSubject) -> Iterator[ScoreDescription]:
    for described in _hooks(subject).hook.describe_scores():
        yield from described


@must(reason="They stand in result documents.", hint="Return a mapping of texts to JSON, also for no trials.")
async def figures_over_trials_are_json(subject: PluginSubject) -> None:
    """The figures over all trials of a framework are JSON, also without any trial."""
    hook = _hooks(subject).hook.aggregate_scores
    if not hook.get_hookimpls():
        raise NotTried("it adds no figures over trials")
    given = await subject.call("figures over no trials", lambda: hook(run=None, results=[]))
    for figures in given:
        expect_kind("the figures", figures, dict)
        expect_json("the figures", figures)
