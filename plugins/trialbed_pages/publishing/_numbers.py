"""The numbers of a published run, with everything that its pages show and without facts that change in a replay."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from trialbed.records import Json, Query, Record, TrialResult
from trialbed.report import Report, ScoreMean, Summary, conclusions
from trialbed.report.comparison import ScoreFinding, difference_text, finding_cells
from trialbed.scoring import JUDGED
from trialbed.settings import declared_settings
from trialbed.store import StoredRun, TrialRow
from trialbed.texts import group_by_key
from trialbed_pages.publishing._names import folder_mask, public_name
from trialbed_plugins.recordings import canonical_text, requests_of

DIGITS = 6
"""Digits of every number; machines may differ in the last digits of a sum."""

APART = frozenset({"frameworks", "commands", "dataset", "model", "model_name", "base_url", "on_miss", "repeat"})
"""Settings that are told apart, or that say where a model was."""

TURN_TOKENS = {
    "tokens: turn 1": "tokens_at_turn_1",
    "turn 3": "tokens_at_turn_3",
    "turn 10": "tokens_at_turn_10",
    "last turn": "tokens_at_last_turn",
}
"""Column of the table of conversations -> its score."""

PER_TRIAL = ("total_tokens", "model_turns", *TURN_TOKENS.values())
"""Unbounded figures that a replay repeats, which excludes times."""


class PublishedMean(Record):
    """A mean over trials with its 95 % interval, if it has one."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


class PublishedLostCall(Record):
    """An expected call whose result did not reach the answer, with the stage and the reason."""

    query: str
    repeat: int
    call: str
    stage: str
    reason: str


class PublishedFramework(Record):
    """The results of one framework.

    Attributes:
        conclusion: its result, in a sentence.
        failures: kind -> number of trials with it.
        scores: scores in [0, 1], and the means of ``PER_TRIAL``.
        prompt_tokens, completion_tokens, requests: totals over its trials.
        gold_calls: stage, or ``used`` -> number of expected calls lost there or used.
        solved: query -> the verdict of each repeat, from 0 to 1.
        requests_digest: of all its model requests; empty if they are not completely known.
    """

    label: str
    version: str
    conclusion: str
    trials: int
    failures: dict[str, int]
    scores: dict[str, PublishedMean]
    prompt_tokens: int
    completion_tokens: int
    requests: int
    gold_calls: dict[str, int]
    lost: tuple[PublishedLostCall, ...]
    solved: dict[str, tuple[float, ...]]
    requests_digest: str = ""


class PublishedFinding(Record):
    """A framework against another one, by one score.

    Attributes:
        kind: ``reference``, or ``profile`` for the controlled profile of the same framework.
        low, high: the difference's 95 % interval.
        changed: number of queries with a difference, of ``n``.
        p, verdict: in words, adjusted over all comparisons of the run.
    """

    framework: str
    kind: str
    against: str
    score: str
    difference: float
    low: float
    high: float
    text: str
    changed: int
    n: int
    p: str
    verdict: str


class PublishedQuery(Record):
    """A task with its text and the numbers of offered tools and expected calls."""

    query: str
    text: str
    tools: int
    calls: int


class RunNumbers(Record):
    """All numbers of a run.

    Attributes:
        name: of the run in the folder.
        model, dataset: their names in the original run; ``dataset_digest``: of the queries.
        settings: settings with other values than the defaults.
    """

    name: str
    model: str
    dataset: str
    dataset_digest: str
    judge: str
    repeat: int
    margin: float
    settings: dict[str, Json]
    queries: tuple[PublishedQuery, ...]
    frameworks: tuple[PublishedFramework, ...]
    findings: tuple[PublishedFinding, ...]


def numbers_of(
    report: Report, queries: Mapping[int | str, Query], digests: Mapping[str, str], *, name: str, model: str
) -> RunNumbers:
    """Return the numbers of a run, without local folders in its sentences.

    Args:
        digests: of each setup's model requests.
        name: of the run in the folder.
        model: its name, which differs in a replay.
    """
    config, mask = report.run.config, folder_mask()
    said = {one.framework: str(one) for one in conclusions(report)}
    usual = {item.name: item.usual for item in declared_settings()}
    settings = {
        key: _public(list(value) if isinstance(value, tuple) else value)
        for key, value in config.settings(config.frameworks[0]).items()
        if key not in APART
    }
    return RunNumbers(
        name=name,
        model=model,
        dataset=config.test_set,
        dataset_digest=config.dataset_digest,
        judge=public_name(config.judge),
        repeat=config.repeat,
        margin=report.run.margin,
        settings={key: value for key, value in settings.items() if value not in (None, usual[key], [], "")},
        queries=tuple(
            PublishedQuery(query=str(one.query_id), text=one.text, tools=len(one.apis), calls=len(one.gold_calls))
            for one in queries.values()
        ),
        frameworks=tuple(_framework(summary, said[summary.framework], mask, digests) for summary in report.frameworks),
        findings=tuple(
            _finding(summary.framework, one.kind, one.against, score, found)
            for summary in report.frameworks
            for one in summary.comparisons
            for score, found in one.scores.items()
        ),
    )


def _public(value: Any) -> Any:
    """Return the value of a setting without addresses of models and folders of files."""
    if isinstance(value, list):
        return [_public(one) for one in value]
    return public_name(value) if isinstance(value, str) else value


def _framework(
    summary: Summary, conclusion: str, mask: Callable[[str], str], digests: Mapping[str, str]
) -> PublishedFramework:
    scores = {name: _mean(one) for name, one in summary.scores.items() if one.interval or name in PER_TRIAL}
    return PublishedFramework(
        label=summary.framework,
        version=summary.info.version if summary.info else "",
        conclusion=mask(conclusion),
        trials=summary.counts.trials,
        failures=dict(sorted(summary.counts.failures.items())),
        scores=scores,
        prompt_tokens=summary.tokens.prompt,
        completion_tokens=summary.tokens.completion,
        requests=summary.tokens.requests,
        gold_calls=dict(summary.attribution.counts) if summary.attribution else {},
        lost=tuple(_lost_calls(summary, mask)),
        solved=_count_solved(summary),
        requests_digest=digests.get(summary.framework, ""),
    )


def _lost_calls(summary: Summary, mask: Callable[[str], str]) -> list[PublishedLostCall]:
    return [
        PublishedLostCall(
            query=str(trial.query_id),
            repeat=trial.repeat,
            call=": ".join(filter(None, call.gold.api.pair)),
            stage=call.lost,
            reason=mask(call.reason),
        )
        for trial in summary.trials
        for call in trial.gold_calls or ()
        if call.lost is not None
    ]


def _count_solved(summary: Summary) -> dict[str, tuple[float, ...]]:
    found = group_by_key((str(trial.query_id), _verdict_of(trial)) for trial in summary.trials)
    return {query: tuple(values) for query, values in found.items()}


def _verdict_of(trial: TrialRow) -> float:
    judged = trial.score(JUDGED) if trial.status == "answered" else None
    return 0.0 if judged is None else _round(judged)


def _finding(framework: str, kind: str, against: str, score: str, found: ScoreFinding) -> PublishedFinding:
    p, verdict = finding_cells(found)
    return PublishedFinding(
        framework=framework,
        kind=kind,
        against=against,
        score=score,
        difference=_round(found.difference),
        low=_round(found.interval.low),
        high=_round(found.interval.high),
        text=difference_text(found),
        changed=len(found.changed_queries),
        n=found.n,
        p=p,
        verdict=verdict,
    )


def _mean(found: ScoreMean) -> PublishedMean:
    low, high = found.interval or (None, None)
    value, low, high = (None if one is None else _round(one) for one in (found.value, low, high))
    return PublishedMean(value=value, low=low, high=high, n=found.denominator)


def _round(value: float) -> float:
    return round(value, DIGITS)


def request_digests(run: StoredRun) -> Mapping[str, str]:
    """Return a digest of each setup's requests to the model, in the form that recordings compare.

    Setups with a request that is too long for the log are left out.

    Raises:
        DataError: a wire log cannot be read.
    """
    asked: dict[str, dict[tuple[str, int], str]] = {}
    for trial in run.each_counted():
        key = trial.key
        asked.setdefault(key.framework, {})[str(key.query_id), key.repeat] = _digest(run, trial)
    return {
        label: hashlib.sha256("\n".join(own[place] for place in sorted(own)).encode()).hexdigest()
        for label, own in asked.items()
        if all(own.values())
    }


def _digest(run: StoredRun, trial: TrialResult) -> str:
    """Return the digest of a trial's requests; empty if one is not completely known."""
    found = hashlib.sha256()
    for _, request in requests_of(trial, run.config.cell(trial.key.framework)):
        if request is None:
            return ""
        found.update(canonical_text(request).encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()
