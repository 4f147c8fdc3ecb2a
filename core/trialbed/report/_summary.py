"""The figures over all trials of a framework, each with its denominator."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from trialbed.records import Run, ScoreDescription
from trialbed.report._metadata import framework_info
from trialbed.report._packed import PackedTrials
from trialbed.report._records import Counts, Figures, Summary, Times
from trialbed.report._scores import score_summaries
from trialbed.report._success import success
from trialbed.report._tally import TrialTally
from trialbed.report._trials import QueryId
from trialbed.scoring import TIMES

if TYPE_CHECKING:
    from numpy.typing import NDArray


def summarise(
    run: Run,
    framework: str,
    trials: PackedTrials,
    tally: TrialTally,
    *,
    absent: Mapping[QueryId, Collection[str]],
    quality: Collection[str],
    common: NDArray[Any] | None = None,
    first_apart: bool | None = None,
    attributed: bool = False,
    described: Mapping[str, ScoreDescription] | None = None,
) -> Summary:
    """Sum up the trials of a framework.

    A mean of a score of quality is over the trials that were measured, those that failed counted as 0; of any other
    score over those without failure. Intervals are 95 % Wilson intervals of bounded scores, clustered by
    query. Times are seconds; failures enter none of their averages.

    Args:
        trials: in the order of the run's queries.
        tally: the counts over them; its tokens are those of attempts that do not count, too.
        absent: the scores that trials of a query cannot have.
        quality: the scores that say how good an answer is, over all frameworks of the run.
        common: for each trial, whether it was measured for every framework; None where all were.
        first_apart: whether times leave out each worker's first trial; None for wherever there are others.
        attributed: whether the trials say what became of the expected calls.
        described: the descriptions of scores by name.
    """
    columns = trials.columns
    return Summary(
        run=run,
        framework=framework,
        info=framework_info(run, framework),
        counts=_counts(run, trials, tally),
        scores=score_summaries(
            columns,
            columns.is_measured,
            quality,
            absent,
            first_apart=first_apart,
            untold=tally.untold,
            described=described or {},
        ),
        over_answered=Figures(
            tally.ends["answered"], score_summaries(columns, columns.is_answered, first_apart=first_apart)
        ),
        common=None
        if common is None
        else Figures(int(common.sum()), score_summaries(columns, common, quality, absent, first_apart=first_apart)),
        failures=tally.reasons.failures,
        untold=tally.reasons.untold,
        tokens=tally.tokens.total,
        claims=tally.claims.total,
        wire=tally.wire.total,
        integrity=tally.integrity.of_framework(run.config, framework),
        times=_times(trials, tally, first_apart),
        success=success(columns),
        repeated=tally.repeats,
        attribution=tally.calls.total if attributed else None,
        trials=trials,
        last_end=tally.last_end,
        absent=absent,
    )


def _counts(run: Run, trials: PackedTrials, tally: TrialTally) -> Counts:
    """Count the ends of trials; one that never began was not measured either."""
    import numpy as np

    ends, verdicts = tally.ends, tally.verdicts
    planned = max(len(run.config.query_ids) * run.config.repeat, len(trials))
    return Counts(
        queries=len(np.unique(trials.columns.query)),
        trials=len(trials),
        answered=ends["answered"],
        failed=ends["failed"],
        not_measured=planned - ends["answered"] - ends["failed"],
        solved=verdicts["Solved"],
        unsure=verdicts["Unsure"],
        unsolved=verdicts["Unsolved"] + ends["failed"],
        finished=tally.finishes[True],
        finish_known=tally.finishes.total() + ends["failed"],
        failures=dict(tally.failures),
    )


def _times(trials: PackedTrials, tally: TrialTally, first_apart: bool | None) -> Times:
    columns = trials.columns
    answered = columns.is_answered
    counted = columns.have_times(answered, first_apart=first_apart)
    first = answered & columns.first
    timed = int(counted.sum())
    return Times(
        gold=_mean(tally.gold_times),
        gold_trials=len(tally.gold_times),
        answer=_mean(columns.column("wall_time")[counted].tolist()),
        timed=timed,
        evaluation=_mean(columns.column("evaluation_time")[answered].tolist()),
        first_trials=int(first.sum()),
        first_apart=timed < int(answered.sum()),
        first={name: found.value for name, found in score_summaries(columns, first).items() if name in TIMES},
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
