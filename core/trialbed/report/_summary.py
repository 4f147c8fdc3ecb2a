"""The figures over all trials of a framework, each with its denominator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean

from trialbed.integrity import framework_integrity
from trialbed.records import GoldAnswer, Run, Score, ScoreDescription, Usage
from trialbed.report._metadata import framework_info
from trialbed.report._reasons import failure_reasons, untold_reasons
from trialbed.report._records import (
    Claims,
    ClaimTotals,
    CommonFigures,
    Counts,
    Repeated,
    ScoreSummary,
    Summary,
    Times,
    Tokens,
    WireFigures,
    WireTally,
)
from trialbed.report._scores import figures, score_summaries
from trialbed.report._success import success
from trialbed.report._trials import Pair, QueryId, ReportedTrial
from trialbed.report.attribution import waterfall
from trialbed.scoring import JUDGED, TIMES, timed_trials


def summarise(
    run: Run,
    framework: str,
    trials: Sequence[ReportedTrial],
    *,
    absent: Mapping[QueryId, Collection[str]],
    quality: Collection[str],
    common: Collection[Pair] | None = None,
    earlier: Sequence[ReportedTrial] = (),
    first_apart: bool | None = None,
    gold: Mapping[QueryId, GoldAnswer] | None = None,
    attributed: bool = False,
    described: Mapping[str, ScoreDescription] | None = None,
) -> Summary:
    """Sum up the trials of a framework.

    A mean of a score of quality is over the trials that were measured, those that failed counted as 0; of any other
    score over those without failure. Intervals are 95% Wilson intervals of bounded scores, clustered by
    query. Times are seconds; failures enter none of their averages.

    Args:
        trials: in the order of the run's queries.
        absent: the scores that trials of a query cannot have.
        quality: the scores that say how good an answer is, over all frameworks of the run.
        common: the queries and repeats that were measured for every framework, where some were not.
        earlier: attempts that do not count; what they used is in the tokens.
        first_apart: whether times leave out each worker's first trial; None for wherever there are others.
        gold: the answers to the expected calls of queries, where the run made them.
        attributed: whether the trials say what became of the expected calls.
        described: the descriptions of scores by name.
    """
    measured = [trial for trial in trials if trial.status != "not measured"]
    answered = [trial for trial in trials if trial.status == "answered"]
    shared = None if common is None else [trial for trial in measured if trial.pair in common]
    return Summary(
        run=run,
        framework=framework,
        info=framework_info(run, framework),
        counts=_counts(run, trials, measured),
        scores=_scores(measured, answered, quality, absent, first_apart, described or {}),
        over_answered=figures(answered, first_apart=first_apart),
        common=None
        if shared is None
        else CommonFigures(len(shared), score_summaries(shared, quality, absent, first_apart=first_apart)),
        failures=failure_reasons(trials),
        untold=untold_reasons(trials),
        tokens=_tokens([*trials, *earlier]),
        claims=_claims(answered),
        wire=_wire(trials),
        integrity=framework_integrity(run.config, framework, (trial.integrity for trial in trials)),
        times=_times(trials, answered, gold or {}, first_apart),
        success=success(measured),
        repeated=_count_repeated(trials, earlier),
        attribution=waterfall(trials) if attributed else None,
        trials=tuple(trials),
        absent=absent,
    )


def _counts(run: Run, trials: Sequence[ReportedTrial], measured: Sequence[ReportedTrial]) -> Counts:
    """Count the ends of trials; one that never began was not measured either."""
    ends = Counter(trial.status for trial in trials)
    planned = max(len(run.config.query_ids) * run.config.repeat, len(trials))
    verdicts = Counter(score.label for score in _known_scores(JUDGED, measured))
    finishes = _known_scores("has_finish", measured)
    return Counts(
        queries=len({trial.query_id for trial in trials}),
        trials=len(trials),
        answered=ends["answered"],
        failed=ends["failed"],
        not_measured=planned - ends["answered"] - ends["failed"],
        solved=verdicts["Solved"],
        unsure=verdicts["Unsure"],
        unsolved=verdicts["Unsolved"] + ends["failed"],
        finished=sum(1 for score in finishes if score.value),
        finish_known=len(finishes) + ends["failed"],
        failures=dict(Counter(trial.failure.kind for trial in trials if trial.failure)),
    )


def _known_scores(name: str, trials: Iterable[ReportedTrial]) -> list[Score]:
    scores = (trial.score(name) for trial in trials if trial.status == "answered")
    return [score for score in scores if score is not None and score.value is not None]


def _scores(
    measured: Sequence[ReportedTrial],
    answered: Sequence[ReportedTrial],
    quality: Collection[str],
    absent: Mapping[QueryId, Collection[str]],
    first_apart: bool | None,
    described: Mapping[str, ScoreDescription],
) -> dict[str, ScoreSummary]:
    untold = Counter(score.name for trial in answered for score in trial.scores if score.value is None)
    return score_summaries(measured, quality, absent, first_apart=first_apart, untold=untold, described=described)


def _tokens(trials: Sequence[ReportedTrial]) -> Tokens:
    wires = [trial.wire for trial in trials]
    used = sum((wire.usage for wire in wires), Usage())
    return Tokens(
        prompt=used.prompt_tokens,
        completion=used.completion_tokens,
        total=used.total_tokens,
        requests=sum(wire.model_requests for wire in wires),
        unreported=sum(wire.unreported for wire in wires),
        recorded_requests=sum(wire.recorded for wire in wires),
        recorded=sum(wire.recorded_tokens for wire in wires),
        cost=sum(costs) if (costs := [wire.cost for wire in wires if wire.cost is not None]) else None,
    )


def _claims(answered: Sequence[ReportedTrial]) -> Claims:
    claimed = [trial.claimed for trial in answered]
    return Claims(
        invented=sum(one.invented for one in claimed),
        unreported=sum(one.unreported for one in claimed),
        unasked=sum(one.unasked for one in claimed),
        tokens=_compare_claims(one.tokens for one in claimed),
        turns=_compare_claims(one.turns for one in claimed),
    )


def _compare_claims(pairs: Iterable[tuple[int, int] | None]) -> ClaimTotals:
    known = [pair for pair in pairs if pair is not None]
    return ClaimTotals(
        claimed=sum(claimed for claimed, _ in known),
        observed=sum(observed for _, observed in known),
        trials=len(known),
        differ=sum(1 for claimed, observed in known if claimed != observed),
    )


def _wire(trials: Sequence[ReportedTrial]) -> WireFigures:
    wires = [trial.wire for trial in trials]
    refused = _sum(wire.refused for wire in wires)
    return WireFigures(
        finish_reasons=_sum(wire.finish_reasons for wire in wires),
        truncated=_tally(wire.truncated for wire in wires),
        text_calls=_tally(wire.text_calls for wire in wires),
        refused=_tally((sum(wire.refused.values()) for wire in wires), refused),
        lost=_tally((len(wire.lost) for wire in wires), Counter(reason for wire in wires for reason in wire.lost)),
        filled=_tally(wire.filled for wire in wires),
        api_calls=sum(wire.api_calls for wire in wires),
        cached=sum(wire.cached for wire in wires),
        waited=_tally(round(wire.waited) for wire in wires),
        translated=_tally(wire.translated for wire in wires),
    )


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sum(map(Counter, counts), Counter()))


def _tally(counts: Iterable[int], kinds: Mapping[str, int] | None = None) -> WireTally:
    numbers = list(counts)
    return WireTally(sum(numbers), sum(1 for number in numbers if number), dict(kinds or {}))


def _times(
    trials: Sequence[ReportedTrial],
    answered: Sequence[ReportedTrial],
    gold: Mapping[QueryId, GoldAnswer],
    first_apart: bool | None,
) -> Times:
    gold_times = [gold[trial.query_id].seconds for trial in trials if trial.query_id in gold]
    counted = timed_trials(answered, first_apart=first_apart)
    first = [trial for trial in answered if trial.first]
    return Times(
        gold=_mean(gold_times),
        gold_trials=len(gold_times),
        answer=_mean([trial.wall_time for trial in counted]),
        timed=len(counted),
        evaluation=_mean([trial.evaluation_time for trial in answered]),
        first_trials=len(first),
        first_apart=len(counted) < len(answered),
        first={name: found.value for name, found in figures(first).scores.items() if name in TIMES},
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _count_repeated(trials: Sequence[ReportedTrial], earlier: Sequence[ReportedTrial]) -> Repeated:
    """Count the trials that were measured several times, and those of which a later attempt counts."""
    others = {(other.key, other.attempt) for other in earlier if other.status != "not measured"}
    keys = {key for key, _ in others}
    replaced = [trial for trial in trials if any((trial.key, number) in others for number in range(trial.attempt))]
    return Repeated(sum(1 for trial in trials if trial.key in keys), len(replaced))
