"""Scores trials: as samples, and as a plugin that adds scores to every trial of a run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from trialbed.errors import UsageError
from trialbed.hook_markers import hookimpl
from trialbed.records import Answer, ApiCall, ApiRef, Failure, Query, Score, ScoreDescription, ToolSpec, WireLog
from trialbed.scoring import ScoreContext
from trialbed.tool_calls import AskedCall, asked_calls
from trialbed_evaluation.conversations import Message, Sample, ToolCall, read_call
from trialbed_evaluation.metrics._batch import METRICS, ScoringOptions, lacking, score_samples

FORMAT = "trial"


def trial_sample(
    query: Query,
    tools: Sequence[ToolSpec],
    wire: WireLog,
    answer: Answer | None,
    *,
    unasked: Collection[ApiCall] = (),
) -> Sample:
    """A trial as a sample: the calls that the model asked for, as the server saw them, against the expected calls.

    Args:
        tools: those offered to the agent; expected calls are named as these are.
        answer: None where the trial failed. It then has no calls that count, and no messages.
        unasked: the calls that no answer of the model asked for; they are left out.
    """
    names = {spec.api: spec.name for spec in tools}
    asked = asked_calls(wire, tools, unasked) if answer is not None else ()
    made = [(_call(call, names), call) for call in asked]
    return Sample(
        id=str(query.query_id),
        format=FORMAT,
        messages=None if answer is None else _messages(query, made, answer),
        calls=tuple(call for call, _ in made),
        reference=tuple(ToolCall(_name(gold.api, names), gold.arguments) for gold in query.gold_calls),
        reference_goal=query.reference_answer,
        tools={spec.name: spec.parameters for spec in tools},
    )


class TrialMetrics:
    """A plugin that gives every trial the scores of metrics; register it under ``trialbed.plugins``.

    Args:
        metrics: their names.
        options: how they are computed, with the model where one is asked.
        reference_topics: the topics that the agents are for.
        prefix: begins the names of the scores. ``tool_call_accuracy`` and ``tool_call_f1`` need one, as scores of these
            names are built in.
    """

    def __init__(
        self,
        metrics: Iterable[str] = ("agent_goal_accuracy",),
        options: ScoringOptions | None = None,
        reference_topics: Sequence[str] = (),
        *,
        prefix: str = "",
    ) -> None:
        self.prefix = prefix
        self.metrics = tuple(metrics)
        self.options = options or ScoringOptions()
        self.reference_topics = tuple(reference_topics)
        for metric in self.metrics:
            if metric not in METRICS:
                raise UsageError(f"there is no metric {metric!r}; the metrics are {', '.join(METRICS)}")

    @hookimpl
    def describe_scores(self) -> list[ScoreDescription]:
        """Return the descriptions of the scores, which are shares."""
        more = ("topic_adherence_precision", "topic_adherence_recall")
        names = [*self.metrics, *(more if "topic_adherence" in self.metrics else ())]
        return [ScoreDescription(f"{self.prefix}{name}") for name in names]

    @hookimpl
    async def score_trial(self, context: ScoreContext) -> list[Score]:
        """Return the scores of one trial. A metric whose reference the query lacks gives none."""
        sample = trial_sample(context.query, context.tools, context.wire, context.answer, unasked=context.unasked)
        if self.reference_topics:
            sample = replace(sample, reference_topics=self.reference_topics)
        metrics = [metric for metric in self.metrics if not lacking(metric, sample, self.options)]
        (found,) = await score_samples([sample], metrics, self.options)
        details = found.as_json()["details"]
        return [
            Score(name=f"{self.prefix}{name}", value=value, detail=details.get(name, {}))
            for name, value in found.values.items()
        ] + [
            Score(name=f"{self.prefix}{name}", value=None, failure=Failure(kind="judge", message=f"{name}: {why}"))
            for name, why in found.unscored.items()
        ]


def _call(call: AskedCall, names: Mapping[ApiRef, str]) -> ToolCall:
    name = call.name if call.api is None else _name(call.api, names)
    given = call.arguments
    return read_call({"name": name, "arguments": given if isinstance(given, str | Mapping | None) else str(given)})


def _name(api: ApiRef, names: Mapping[ApiRef, str]) -> str:
    return names.get(api, api.title)


def _messages(query: Query, made: Sequence[tuple[ToolCall, AskedCall]], answer: Answer) -> tuple[Message, ...]:
    messages = [Message("user", query.text)]
    for call, asked in made:
        given = asked.response
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        said = asked.problem or text
        messages += [Message("assistant", "", (call,)), Message("tool", said)]
    return (*messages, Message("assistant", answer.final_answer))
