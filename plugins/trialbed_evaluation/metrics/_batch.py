"""Scores many samples, and sums the scores up."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialbed.errors import DataError, JudgeError, UsageError
from trialbed_evaluation.conversations import Sample
from trialbed_evaluation.metrics._conversations import EXTRACTION as TOPICS_STEP
from trialbed_evaluation.metrics._conversations import INFERENCE as GOAL_STEP
from trialbed_evaluation.metrics._conversations import agent_goal_accuracy, topic_adherence
from trialbed_evaluation.metrics._inputs import Compat, Order, StepModel, replayed
from trialbed_evaluation.metrics._tool_calls import tool_call_accuracy, tool_call_f1

METRICS = {
    "tool_call_accuracy": "points of all calls over the number of calls",
    "tool_call_f1": "F1 of the calls made against those that are right, in any order",
    "topic_adherence": "F1 of the topics that were answered; with precision and recall",
    "agent_goal_accuracy": "whether the outcome is the one that was wanted",
}
"""Every metric, and its subject."""

AT_ONCE = 8
"""Number of samples scored concurrently if a model is asked."""


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """The settings of scoring.

    Attributes:
        order: of the calls, for ``tool_call_accuracy``.
        rules: ``tool.argument`` or ``argument`` -> rule.
        tools: schemas for samples without schemas.
        model: answers the steps of samples without recorded outputs.
        at_once: number of samples scored concurrently.
    """

    order: Order = "strict"
    rules: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    compat: Compat | None = None
    model: StepModel | None = None
    at_once: int = AT_ONCE


@dataclass(frozen=True)
class SampleScores:
    """The scores of one sample.

    Attributes:
        values: by name, from 0 to 1.
        unscored: name of a metric -> why it has no value.
        failed: unscored metrics because the model gave no usable answer.
        results: name of a metric -> its result, with the reason.
    """

    sample: Sample
    values: Mapping[str, float]
    unscored: Mapping[str, str]
    results: Mapping[str, Any]
    failed: Collection[str] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the scores with their reasons as a JSON object."""
        found: dict[str, Any] = {"id": self.sample.id, "place": self.sample.place, "format": self.sample.format}
        details = {
            name: result.diagnosis.as_json() if hasattr(result, "diagnosis") else result.as_json()
            for name, result in self.results.items()
        }
        return {**found, "scores": dict(self.values), "unscored": dict(self.unscored), "details": details}


@dataclass(frozen=True)
class MetricSummary:
    """A metric over all samples.

    Attributes:
        mean: of the samples with a value; None without values.
        reasons: reason for a missing value -> number of samples.
        failed: number of samples without a usable answer of the model.
    """

    name: str
    mean: float | None
    scored: int
    unscored: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0


def lacking(metric: str, sample: Sample, options: ScoringOptions) -> str:
    """Describe the parts that a sample lacks for a metric; empty if complete.

    Raises:
        UsageError: the metric does not exist.
    """
    if metric not in METRICS:
        raise UsageError(f"there is no metric {metric!r}; the metrics are {', '.join(METRICS)}")
    if metric.startswith("tool_call") and sample.reference is None:
        return "it has no reference calls"
    if metric.startswith("tool_call"):
        unknown = any(call.args is None for call in sample.calls)
        lacks = unknown and any(call.args is not None for call in sample.right_calls)
        return sample.unrecorded or ("the arguments of its calls are not recorded" if lacks else "")
    if sample.messages is None:
        return "it has no messages"
    if metric == "topic_adherence" and not sample.reference_topics:
        return "it has no reference_topics"
    first = TOPICS_STEP if metric == "topic_adherence" else GOAL_STEP
    return "" if options.model or first in sample.steps else "no model is given (--judge)"


async def score_samples(
    samples: Sequence[Sample], metrics: Sequence[str], options: ScoringOptions
) -> list[SampleScores]:
    """Return the scores of each sample, in the order of the samples.

    A sample with missing parts or without a usable answer of the model gets a reason instead of a value.

    Raises:
        UsageError: a metric does not exist, or a rule is wrong.
    """
    free = asyncio.Semaphore(options.at_once)

    async def score(sample: Sample) -> SampleScores:
        async with free:
            return await _score(sample, metrics, options)

    return list(await asyncio.gather(*map(score, samples)))


def summarize(scores: Sequence[SampleScores]) -> list[MetricSummary]:
    """Return the mean of every metric, and why samples have no value."""
    summaries = []
    for name in dict.fromkeys(name for found in scores for name in (*found.values, *found.unscored)):
        values = [found.values[name] for found in scores if name in found.values]
        reasons = Counter(found.unscored[name] for found in scores if name in found.unscored)
        mean = math.fsum(values) / len(values) if values else None
        failed = sum(name in found.failed for found in scores)
        summaries.append(MetricSummary(name, mean, len(values), len(scores) - len(values), reasons, failed))
    return summaries


async def _score(sample: Sample, metrics: Sequence[str], options: ScoringOptions) -> SampleScores:
    values: dict[str, float] = {}
    unscored: dict[str, str] = {}
    failed: set[str] = set()
    results: dict[str, Any] = {}
    for metric in metrics:
        missing = lacking(metric, sample, options)
        if missing:
            unscored[metric] = missing
            continue
        try:
            result = await _result(metric, sample, options)
        except (DataError, JudgeError) as error:
            unscored[metric] = str(error)
            if isinstance(error, JudgeError):
                failed.add(metric)
            continue
        results[metric] = result
        found = _values(metric, result)
        values.update(found)
        if not found:
            unscored[metric] = result.reason
    return SampleScores(sample, values, unscored, results, failed)


async def _result(metric: str, sample: Sample, options: ScoringOptions) -> Any:
    if metric.startswith("tool_call"):
        made, right = list(sample.calls), list(sample.reference or ())
        tools = sample.tools or options.tools
        how: dict[str, Any] = {"tools": tools, "rules": options.rules, "compat": options.compat}
        if metric == "tool_call_f1":
            return tool_call_f1(made, right, **how)
        return tool_call_accuracy(made, right, order=options.order, **how)
    first = TOPICS_STEP if metric == "topic_adherence" else GOAL_STEP
    model = replayed(sample.steps) if first in sample.steps else options.model
    assert model is not None  # noqa: S101 - see ``lacking``
    ask = topic_adherence if metric == "topic_adherence" else agent_goal_accuracy
    return await ask(sample, model=model, compat=options.compat)


def _values(metric: str, result: Any) -> dict[str, float]:
    found = {metric: result.value}
    if metric == "topic_adherence":
        found |= {f"{metric}_precision": result.precision, f"{metric}_recall": result.recall}
    return {name: float(value) for name, value in found.items() if value is not None and not math.isnan(value)}
