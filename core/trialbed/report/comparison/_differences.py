"""Paired differences between two sides, over the queries that both have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import shown_name
from trialbed.report.comparison._findings import CommonQueries, PairedScore, Ranks, ScoreFinding, findings_by_pair
from trialbed.report.comparison._recovery import Recovery, recovery
from trialbed.report.comparison._sides import (
    JUDGE_KEYS,
    Side,
    alike_in_times,
    incomplete_note,
    shared_trials,
    unlike_settings,
)
from trialbed.scoring import JUDGED
from trialbed.settings import MARGIN
from trialbed.statistics import RESAMPLES, Estimate, mean_estimate, paired_interval
from trialbed.texts import number_of

FEW = 10
"""Number of queries below which the bootstrap intervals of tokens, turns and times are too narrow to rely on."""


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison.

    Attributes:
        margin: the largest difference of a score that does not matter.
        force: compare the queries of the same id even where the datasets differ, and verdicts of different judges.
        resamples: of the bootstrap behind the intervals.
        seed: of the resamples.
        allow_incomplete: compare what both have measured of runs that lack trials.
    """

    margin: float = MARGIN
    force: bool = False
    resamples: int = RESAMPLES
    seed: int = 0
    allow_incomplete: bool = False


@dataclass(frozen=True)
class ScoreDifference:
    """One score of two sides, over the queries for which both have a value.

    Attributes:
        n: how many queries these are.
        baseline, candidate: the means.
        difference: the mean of the differences, candidate less baseline.
        better, worse: on how many queries the candidate is higher, and lower.
        whole: whether both means are also those over all trials of the sides, as the tables of their runs have them.
    """

    n: int
    bounded: bool
    baseline: float | None
    candidate: float | None
    difference: Estimate
    better: int
    worse: int
    whole: bool = True

    @property
    def is_alike(self) -> bool:
        """True where both sides have the same value on every query that both have one for."""
        return self.n > 0 and not self.better and not self.worse


@dataclass(frozen=True)
class RunComparison:
    """A candidate compared with the baseline.

    Attributes:
        common: how many queries both have; ``only_baseline`` and ``only_candidate`` are left out.
        settings: those that differ, with the value of each side.
        findings: the verdicts, by score.
        recovery: of a run with faults, compared with one without.
        notes: conditions that distort the figures.
        ranks: score -> name -> the best and the worst rank over all sides that are compared.
    """

    baseline: Side
    candidate: Side
    common: int
    only_baseline: int
    only_candidate: int
    settings: Mapping[str, Sequence[Any]]
    scores: Mapping[str, ScoreDifference]
    findings: Mapping[str, ScoreFinding]
    recovery: Recovery | None
    options: ComparisonOptions
    notes: Sequence[str]
    ranks: Ranks = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        how = self.options
        return {
            "baseline": _side_json(self.baseline),
            "candidate": _side_json(self.candidate),
            "queries": {
                "common": self.common,
                "only_baseline": self.only_baseline,
                "only_candidate": self.only_candidate,
            },
            "settings": dict(self.settings),
            "scores": {name: _score_json(found) for name, found in self.scores.items()},
            "findings": {name: found.as_json() for name, found in self.findings.items()},
            "recovery": asdict(self.recovery) if self.recovery else None,
            "options": {
                "margin": how.margin,
                "force": how.force,
                "resamples": how.resamples,
                "seed": how.seed,
            },
            "notes": list(self.notes),
            "ranks": {score: {name: list(rank) for name, rank in own.items()} for score, own in self.ranks.items()},
        }


def compare_pairs(pairs: Sequence[tuple[Side, Side]], options: ComparisonOptions) -> list[RunComparison]:
    """Compare each candidate with its baseline; the p-values are adjusted over all that is compared at once.

    Raises:
        UsageError: a pair is the same trials, of different datasets, incomplete, or has no query in common.
    """
    comparable = []
    for pair in pairs:
        check_complete(pair, allowed=options.allow_incomplete)
        baseline, candidate = alike_in_times(*shared_trials(*pair))
        notes = [*_check_sides(baseline, candidate, options), *_notes_on_times(pair)]
        if not options.force and judges_differ(baseline, candidate):
            baseline, candidate = baseline.without(JUDGED), candidate.without(JUDGED)
        comparable.append((baseline, candidate, notes))
    findings = findings_by_pair([(baseline, candidate) for baseline, candidate, _ in comparable], options.margin)
    return [
        _compare(baseline, candidate, found, notes, options)
        for (baseline, candidate, notes), found in zip(comparable, findings, strict=True)
    ]


def _compare(
    baseline: Side,
    candidate: Side,
    findings: Mapping[str, ScoreFinding],
    notes: Sequence[str],
    options: ComparisonOptions,
) -> RunComparison:
    common = CommonQueries(baseline, candidate)
    names = [name for name in baseline.scores if name in set(candidate.scores)]
    return RunComparison(
        baseline=baseline,
        candidate=candidate,
        common=len(common),
        only_baseline=len(baseline.queries) - len(common),
        only_candidate=len(candidate.queries) - len(common),
        settings=_settings(baseline, candidate),
        scores={name: _score(name, common, options) for name in names},
        findings=findings,
        recovery=recovery(baseline, candidate) if JUDGED in names else None,
        options=options,
        notes=notes,
    )


def check_complete(sides: Sequence[Side], *, allowed: bool) -> None:
    """Check that runs have measured all of their trials, or that this is not asked for.

    Raises:
        UsageError: one has not.
    """
    for side in sides:
        if side.missing and not allowed:
            raise UsageError(
                f"{incomplete_note(side)}, so that its scores would be over a part of the queries only; "
                "run the same `bench run` again to finish it, or give --allow-incomplete (allow_incomplete=True in "
                "Python) to compare what both have measured"
            )


def _check_sides(baseline: Side, candidate: Side, options: ComparisonOptions) -> list[str]:
    """Return notes on conditions that distort the figures; raise an error where the figures would mean nothing."""
    notes = [
        f"INCOMPLETE: {note}; the figures are over the queries and repeats that both have measured"
        for side in (baseline, candidate)
        if (note := incomplete_note(side))
    ]
    common = CommonQueries(baseline, candidate)
    if not common and (baseline.missing or candidate.missing):
        raise UsageError(f"{baseline.source} and {candidate.source} have measured no query in common yet")
    if not common:
        raise UsageError(
            f"{baseline.source} and {candidate.source} have no query in common, so there is nothing to compare: they "
            f"are of {baseline.about.test_set} and {candidate.about.test_set}"
        )
    if _datasets_differ(baseline, candidate):
        problem = f"the datasets differ ({baseline.about.dataset} and {candidate.about.dataset})"
        if not options.force:
            raise UsageError(
                f"{baseline.source} and {candidate.source}: {problem}, so queries of the same id may be different "
                f"tasks; with --force the {len(common)} queries of the same id are compared"
            )
        notes.append(f"{problem}: queries of the same id may be different tasks")
    if judges_differ(baseline, candidate):
        problem = "the judges differ, and verdicts of different judges are not comparable"
        notes.append(
            f"{problem}; they are compared because of --force"
            if options.force
            else f"{problem}: {shown_name(JUDGED)} is left out"
        )
    notes += _unlike_queries(common)
    notes += [
        f"the calls in {side.source}, a result file of MASBench, are those that the agent named, not observed ones"
        for side in (baseline, candidate)
        if side.is_claimed
    ]
    if len(common) < FEW:
        notes.append(
            f"only {number_of(len(common), 'query', 'queries')}: the intervals of tokens, turns and times are narrower "
            "than they should be"
        )
    return notes


def _notes_on_times(sides: Sequence[Side]) -> Iterator[str]:
    """Yield whether times leave out first trials, and if not, why."""
    only = [side.name for side in sides if not side.first_apart]
    count = sum(side.first_trials for side in sides)
    if count and only:
        yield (
            f"times include the first trial of each worker, as a framework of the run of {' and '.join(only)} has no "
            "others"
        )
    elif count:
        trials = number_of(count, "trial")
        yield f"times leave out the first trial of each worker ({trials})"


def _unlike_queries(common: CommonQueries) -> Iterator[str]:
    """Yield in how many common queries the tasks or the tools on offer differ, as far as both are known."""
    ours, theirs = common.baseline.tasks, common.candidate.tasks
    tasks = sum(1 for query, task in ours.items() if query in theirs and task != theirs[query])
    for what, unlike in (("the text or the expected Apis", tasks), ("the offered tools", common.unlike_offers)):
        if unlike:
            yield f"{what} differ in {unlike} of the {len(common)} common queries"


def judges_differ(baseline: Side, candidate: Side) -> bool:
    """Return whether the verdicts of two sides are of different judges."""
    if any(baseline.about.settings[key] != candidate.about.settings[key] for key in JUDGE_KEYS):
        return True
    # Documents of other programs say less of their judge.
    ours, theirs = (side.about.judge or {} for side in (baseline, candidate))
    return any(
        ours[key] != theirs[key] for key in ("driver", "model", "prompts", "rules") if key in ours and key in theirs
    )


def _datasets_differ(baseline: Side, candidate: Side) -> bool:
    """Compare the datasets by their digests, or by their names where those are not recorded."""
    digests = {side.about.dataset_digest for side in (baseline, candidate)}
    return baseline.about.test_set != candidate.about.test_set if None in digests else len(digests) > 1


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "source": side.source,
        "name": side.name,
        **side.about.as_json(),
        "missing": side.missing,
        "failures": side.failures,
    }


def _settings(baseline: Side, candidate: Side) -> dict[str, list[Any]]:
    """Return the settings that differ, with the value of each side."""
    runs = baseline.about, candidate.about
    differing = (key for key in unlike_settings(runs) if baseline.records(key) and candidate.records(key))
    return {key: [run.settings[key] for run in runs] for key in differing}


def _score(name: str, common: CommonQueries, options: ComparisonOptions) -> ScoreDifference:
    baseline, candidate = common.baseline, common.candidate
    found = common.score(name)
    means = [fmean(values) if len(found) else None for values in (found.ours, found.theirs)]
    differences = found.differences
    return ScoreDifference(
        n=len(found),
        bounded=name in baseline.bounded,
        baseline=means[0],
        candidate=means[1],
        difference=_difference(found, options, bounded=name in baseline.bounded | baseline.quality),
        better=int((differences > 0).sum()),
        worse=int((differences < 0).sum()),
        whole=all(_is_whole(side, name, mean) for side, mean in zip((baseline, candidate), means, strict=True)),
    )


def _is_whole(side: Side, score: str, mean: float | None) -> bool:
    """Return whether a mean over queries is the one over all trials, too."""
    values = side.trial_values(score)
    if mean is None or not len(values):
        return mean is None and not len(values)
    return math.isclose(fmean(values), mean, rel_tol=1e-9)


def _score_json(found: ScoreDifference) -> dict[str, Any]:
    return {
        "n": found.n,
        "bounded": found.bounded,
        "baseline": found.baseline,
        "candidate": found.candidate,
        "difference": found.difference.as_json(),
        "better": found.better,
        "worse": found.worse,
    }


def _difference(found: PairedScore, options: ComparisonOptions, *, bounded: bool) -> Estimate:
    if not len(found):
        return Estimate(None, None, 0)
    values = found.differences
    if bounded:
        return Estimate(fmean(values), paired_interval(values), len(values))
    # In one order, so that the same trials give the same draws wherever they are read from.
    return mean_estimate(values, resamples=options.resamples, seed=options.seed, order=lambda: found.order)
