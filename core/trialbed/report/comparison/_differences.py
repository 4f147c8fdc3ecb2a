"""Comparisons of the sides of several runs: paired differences, recovery from faults, and regressions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import shown_name
from trialbed.report.comparison._documents import read_sides
from trialbed.report.comparison._findings import (
    CommonQueries,
    Ranks,
    ScoreFinding,
    findings_by_pair,
    headline_scores,
    open_ranks,
)
from trialbed.report.comparison._run import run_pairs
from trialbed.report.comparison._sides import (
    JUDGE_KEYS,
    Side,
    are_same_trials,
    incomplete_note,
    setting_label,
    setting_value,
    shared_trials,
    unique_names,
    unlike_settings,
    void_notes,
)
from trialbed.scoring import JUDGED
from trialbed.settings import MARGIN
from trialbed.statistics import RESAMPLES, Estimate, clustered_interval, mean_estimate, paired_interval
from trialbed.texts import number_of

FEW = 10
"""Number of queries below which the bootstrap intervals of tokens, turns and times are too narrow to rely on."""

RESISTED = "injection_resisted"


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison.

    Attributes:
        margin: the largest difference of a score that does not matter.
        force: compare the queries of the same id even where the datasets differ, and verdicts of different judges.
        allow_incomplete: compare what both have measured of runs that lack trials.
    """

    margin: float = MARGIN
    force: bool = False
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


@dataclass(frozen=True)
class Recovery:
    """The recovery of a run with faults, compared with one without.

    Attributes:
        trials: queries and repeats that both have.
        value: ``solved_both`` of ``solved_without``; None where nothing was solved without faults.
        injected: trials in which an instruction was injected; ``obeyed`` those of them in which it was followed.
    """

    trials: int
    solved_without: int
    solved_with: int
    solved_both: int
    value: float | None
    low: float | None
    high: float | None
    injected: int
    obeyed: int


@dataclass(frozen=True)
class RunComparison:
    """A candidate compared with the baseline.

    Attributes:
        common: the queries that both have; others are left out.
        settings: those that differ, with the value of each side.
        findings: the verdicts, by score.
        recovery: of a run with faults, compared with one without.
        notes: conditions that distort the figures.
        ranks: score -> name -> the best and the worst rank over all sides that are compared.
    """

    baseline: Side
    candidate: Side
    common: CommonQueries
    settings: Mapping[str, Sequence[Any]]
    scores: Mapping[str, ScoreDifference]
    findings: Mapping[str, ScoreFinding]
    recovery: Recovery | None
    options: ComparisonOptions
    notes: Sequence[str]
    ranks: Ranks = field(default_factory=dict)

    @property
    def only(self) -> dict[str, int]:
        """The numbers of queries that only the baseline and only the candidate has."""
        sides = {"baseline": self.baseline, "candidate": self.candidate}
        return {name: len(side.queries) - len(self.common) for name, side in sides.items()}

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        sides = {"baseline": self.baseline, "candidate": self.candidate}
        score = ("n", "bounded", "baseline", "candidate", "difference", "better", "worse")
        return {
            **{
                name: {"source": side.source, "name": side.name, **side.about.as_json()}
                | {"missing": side.missing, "failures": side.failures}
                for name, side in sides.items()
            },
            "queries": {"common": len(self.common), **{f"only_{name}": only for name, only in self.only.items()}},
            "settings": dict(self.settings),
            "scores": {
                name: {key: getattr(found, key) for key in score} | {"difference": found.difference.as_json()}
                for name, found in self.scores.items()
            },
            "findings": {name: found.as_json() for name, found in self.findings.items()},
            "recovery": asdict(self.recovery) if self.recovery else None,
            "options": {"margin": self.options.margin, "force": self.options.force, "resamples": RESAMPLES, "seed": 0},
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
        # If one side has no times but those of first trials, these are in the times of both.
        apart = all(side.first_apart for side in pair)
        baseline, candidate = (replace(side, first_apart=apart) for side in shared_trials(*pair))
        notes = _check_sides(baseline, candidate, options)
        count, only = sum(side.first_trials for side in pair), [side.name for side in pair if not side.first_apart]
        if count and only:
            why = f"as a framework of the run of {' and '.join(only)} has no others"
            notes.append(f"times include the first trial of each worker, {why}")
        elif count:
            notes.append(f"times leave out the first trial of each worker ({number_of(count, 'trial')})")
        if not options.force and judges_differ(baseline, candidate):
            baseline, candidate = baseline.without(JUDGED), candidate.without(JUDGED)
        comparable.append((baseline, candidate, notes))
    findings = findings_by_pair([(baseline, candidate) for baseline, candidate, _ in comparable], options.margin)
    compared = []
    for (baseline, candidate, notes), found in zip(comparable, findings, strict=True):
        common = CommonQueries(baseline, candidate)
        names = [name for name in baseline.scores if name in set(candidate.scores)]
        runs = baseline.about, candidate.about
        differing = (key for key in unlike_settings(runs) if baseline.records(key) and candidate.records(key))
        one = RunComparison(
            baseline=baseline,
            candidate=candidate,
            common=common,
            settings={key: [run.settings[key] for run in runs] for key in differing},
            scores={name: _score(name, common) for name in names},
            findings=found,
            recovery=_recovery(baseline, candidate) if JUDGED in names else None,
            options=options,
            notes=notes,
        )
        compared.append(one)
    return compared


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
    common, both = CommonQueries(baseline, candidate), f"{baseline.source} and {candidate.source}"
    if not common and (baseline.missing or candidate.missing):
        raise UsageError(f"{both} have measured no query in common yet")
    if not common:
        of = f"{baseline.about.test_set} and {candidate.about.test_set}"
        raise UsageError(f"{both} have no query in common, so there is nothing to compare: they are of {of}")
    digests = {side.about.dataset_digest for side in (baseline, candidate)}
    test_sets = {side.about.test_set for side in (baseline, candidate)}
    if len(test_sets if None in digests else digests) > 1:
        problem = f"the datasets differ ({baseline.about.dataset} and {candidate.about.dataset})"
        if not options.force:
            raise UsageError(
                f"{both}: {problem}, so queries of the same id may be different tasks; with --force the "
                f"{len(common)} queries of the same id are compared"
            )
        notes.append(f"{problem}: queries of the same id may be different tasks")
    if judges_differ(baseline, candidate):
        outcome = "; they are compared because of --force" if options.force else f": {shown_name(JUDGED)} is left out"
        notes.append(f"the judges differ, and verdicts of different judges are not comparable{outcome}")
    ours, theirs = baseline.tasks, candidate.tasks
    tasks = sum(1 for query, task in ours.items() if query in theirs and task != theirs[query])
    for what, unlike in (("the text or the expected Apis", tasks), ("the offered tools", common.unlike_offers)):
        if unlike:
            notes.append(f"{what} differ in {unlike} of the {len(common)} common queries")
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


def judges_differ(baseline: Side, candidate: Side) -> bool:
    """Return whether the verdicts of two sides are of different judges."""
    if any(baseline.about.settings[key] != candidate.about.settings[key] for key in JUDGE_KEYS):
        return True
    # Documents of other programs say less of their judge.
    ours, theirs = (side.about.judge or {} for side in (baseline, candidate))
    return any(
        ours[key] != theirs[key] for key in ("driver", "model", "prompts", "rules") if key in ours and key in theirs
    )


def _score(name: str, common: CommonQueries) -> ScoreDifference:
    import numpy as np

    baseline, (ours, theirs, places) = common.sides[0], common.score(name)
    values, n, bounded = theirs - ours, len(places), name in baseline.bounded
    if not n:
        difference = Estimate(None, None, 0)
    elif bounded or name in baseline.quality:
        difference = Estimate(fmean(values), paired_interval(values), n)
    else:
        # In one order, so that the same trials give the same draws wherever they are read from.
        difference = mean_estimate(values[np.argsort(baseline.order[places])])
    means = [fmean(own) if n else None for own in (ours, theirs)]
    whole = True
    for side, mean in zip(common.sides, means, strict=True):
        every = side.column(name)
        every = every[~np.isnan(every)]
        whole &= mean is not None and math.isclose(fmean(every), mean, rel_tol=1e-9) if len(every) else mean is None
    better, worse = int((values > 0).sum()), int((values < 0).sum())
    return ScoreDifference(n, bounded, means[0], means[1], difference, better, worse, whole)


def _recovery(baseline: Side, candidate: Side) -> Recovery | None:
    """Return the recovery of a run with faults, compared with one without; None for other pairs of runs.

    A trial is solved where its ``sopr_score`` is 1, and a trial that failed is not. The interval counts the repeats of
    a query as far as they differ.
    """
    if baseline.about.settings["faults"] or not candidate.about.settings["faults"]:
        return None
    verdicts = baseline.each(JUDGED), candidate.each(JUDGED)
    common = verdicts[0].keys() & verdicts[1].keys()
    if not common:
        return None
    without, with_faults = ({pair for pair in common if own[pair] == 1} for own in verdicts)
    both = without & with_faults
    resisted = [value for pair, value in candidate.each(RESISTED).items() if pair in common]
    value = low = high = None
    if without:
        parts, wholes = (Counter(query for query, _ in pairs) for pairs in (both, without))
        value = len(both) / len(without)
        low, high, _ = clustered_interval([parts[query] for query in wholes], list(wholes.values()))
    return Recovery(
        trials=len(common),
        solved_without=len(without),
        solved_with=len(with_faults),
        solved_both=len(both),
        value=value,
        low=low,
        high=high,
        injected=len(resisted),
        obeyed=resisted.count(0),
    )


def compare_groups(groups: Sequence[Sequence[Side]], how: ComparisonOptions) -> list[RunComparison]:
    """Compare the sides of later runs with the first run's side of the same framework, or with its only one.

    Raises:
        UsageError: they cannot be compared, such as over different datasets, or as all of them are void.
    """
    pairs, _ = _split_void(_pairs(groups))
    every = [side for group in groups for side in group]
    void = list(void_notes(every))
    if not pairs:
        raise UsageError("; ".join(void))
    found = compare_pairs(pairs, how)
    every = unique_names(every)
    # A score that cannot be compared between some of them ranks none, and so do figures over different queries.
    is_complete = not any(side.missing for side in every)
    shared = [name for name in headline_scores(*every) if is_complete and all(name in one.findings for one in found)]
    ranks = open_ranks(every, how.margin, shared)
    found[-1] = replace(found[-1], notes=[*found[-1].notes, *void])
    return [replace(one, ranks=ranks) for one in found]


def complete_sides(value: str, store: str | None) -> list[Side]:
    """Return the sides of a run or a result document that has all of its trials.

    Raises:
        UsageError, DataError: trials are missing, or it cannot be found.
    """
    sides = read_sides(value, store)
    check_complete(sides, allowed=False)
    return sides


def regressions(baseline: Sequence[Side], sides: Sequence[Side], margin: float) -> list[str]:
    """Return a line for each framework and score of a run that is worse than in a baseline, and each void row.

    Raises:
        UsageError: they cannot be compared, such as over different datasets.
    """
    # The figures of a run that lacks trials were accepted by --allow-incomplete, or its exit code says so.
    how = ComparisonOptions(margin=margin, allow_incomplete=True)
    pairs, void = _split_void(_pairs([baseline, sides]))
    return [*void, *regression_lines(compare_pairs(pairs, how))]


def regression_lines(comparisons: Iterable[RunComparison]) -> Iterator[str]:
    """Yield a line for each framework and score that is shown to be worse than its baseline, with other settings."""
    for comparison in comparisons:
        # The settings that are not those of the baseline may be the cause.
        changed = (
            f"; {setting_label(key)} is {setting_value(key, ours)} in place of {setting_value(key, theirs)}"
            for key, (theirs, ours) in comparison.settings.items()
        )
        cause = "".join(changed)
        for score, finding in comparison.findings.items():
            if finding.verdict == "worse":
                names = f"{comparison.candidate.name} is worse than {comparison.baseline.name}"
                interval = f"{finding.difference:.4f} [{finding.interval.low:.4f}, {finding.interval.high:.4f}]"
                queries = number_of(finding.n, "query", "queries")
                differs = f"{shown_name(score)} differs by {interval} over {queries}"
                yield f"{names}: {differs}{cause}"


def _split_void(pairs: Iterable[tuple[Side, Side]]) -> tuple[list[tuple[Side, Side]], list[str]]:
    """Return the pairs that can be compared, and why the others cannot."""
    every = list(pairs)
    notes = dict.fromkeys(void_notes(side for pair in every for side in pair))
    return [pair for pair in every if not any(side.void for side in pair)], list(notes)


def _pairs(groups: Sequence[Sequence[Side]]) -> Iterator[tuple[Side, Side]]:
    """Yield baseline and candidate of each comparison.

    Raises:
        UsageError: there is only one side, a framework of a later run is not in a first run of several, or both sides
            would be the same trials.
    """
    first, *others = groups
    if not others:
        if len(first) < 2:
            raise UsageError(
                f"{first[0].source} has results of {first[0].name} only; name another run to compare it with"
            )
        yield from ((one, other) for one, other, _ in run_pairs(first, first[0].about.against))
        return
    every = [side for group in groups for side in group]
    named = dict(zip(map(id, every), unique_names(every), strict=True))
    for candidate in every[len(first) :]:
        same = [side for side in first if side.name == candidate.name] or (first if len(first) == 1 else [])
        if not same:
            raise UsageError(
                f"{candidate.source} has results of {candidate.name}, but {first[0].source} only of "
                f"{', '.join(side.name for side in first)}; compare result documents, each of one framework"
            )
        if are_same_trials(same[0], candidate):
            raise UsageError(
                f"{same[0].source} and {candidate.source} are the same trials: those of {candidate.name} in run "
                f"{candidate.about.run_id}; name another run (`bench runs` lists them), or one run alone to compare "
                "its frameworks"
            )
        yield named[id(same[0])], named[id(candidate)]
