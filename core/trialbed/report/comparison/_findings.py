"""Compute findings on pairs of sides, such as the frameworks of one run, with verdicts, ranks and words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, compress
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from trialbed.contracts import STATUS_VALUES
from trialbed.errors import UsageError
from trialbed.records import (
    CONTROLLED,
    NATIVE,
    SETTINGS,
    framework_name,
    framework_profile,
    framework_release,
    label_settings,
    leading_scores,
    meant_labels,
    score_title,
    varied_framework,
)
from trialbed.report.comparison._sides import QueryId, Side, places_in, shared_trials
from trialbed.scoring import JUDGED
from trialbed.statistics import EnoughQueries as EnoughQueries
from trialbed.statistics import Interval as Interval
from trialbed.statistics import PairedVerdict, count_values, holm, paired_interval, paired_test, paired_verdict
from trialbed.statistics import Pilot as Pilot
from trialbed.texts import group_by_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADLINE = ("sopr_score", "api_call_score")
"""The scores that get verdicts, if both sides have them."""

MOST_QUERIES = 20
"""Queries that a note lists."""


@dataclass(frozen=True)
class ScoreFinding:
    """The finding on one score of one candidate.

    Attributes:
        baseline_mean, candidate_mean: over the queries that both have.
        n: how many these are.
        difference: candidate less baseline, the mean over queries; repeats of a query are one.
        interval: its 95 % interval. It allows for queries that were not seen and differ by all that the score allows.
        p: of the test that the true difference is 0: McNemar's if every query is won, lost or tied as a whole, else
            the sign-flip permutation test.
        p_adjusted: the same by Holm's method over all findings made together.
        better, worse: the queries that changed.
        verdict: ``too few`` means too few queries to decide.
        pilot: the differences, to draw the differences of more queries.
        comparisons: how many were tested together; the p-value is adjusted for them.
        bounded: whether the score lies in [0, 1]. If not, unseen queries are taken to differ by no more than seen ones.
    """

    baseline: str
    candidate: str
    score: str
    n: int
    baseline_mean: float
    candidate_mean: float
    difference: float
    interval: Interval
    p: float
    p_adjusted: float
    margin: float
    better: tuple[QueryId, ...]
    worse: tuple[QueryId, ...]
    pilot: Pilot
    verdict: PairedVerdict = "too few"
    comparisons: int = 1
    bounded: bool = True

    @property
    def changed_queries(self) -> tuple[QueryId, ...]:
        """Return the queries that differ between the sides."""
        return (*self.worse, *self.better)

    @property
    def enough(self) -> EnoughQueries | None:
        """Return about how many queries would be enough, and what they would show; None unless there are too few."""
        if self.verdict != "too few":
            return None
        return self.pilot.enough(self.margin, comparisons=self.comparisons, beyond=self.n)

    @property
    def queries_needed(self) -> int | None:
        """Return about how many queries would be enough if there are too few, or None."""
        return self.enough.queries if self.enough else None

    @property
    def is_difference(self) -> bool:
        """Return whether the sides are shown to differ."""
        return self.verdict in ("better", "worse")

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON, without the names of its sides."""
        means = {"n": self.n, "baseline": self.baseline_mean, "candidate": self.candidate_mean}
        ends = {name: getattr(self.interval, name) for name in ("low", "high", "level")}
        verdict = {name: getattr(self, name) for name in ("p", "p_adjusted", "margin", "verdict", "queries_needed")}
        changed = {"better": list(self.better), "worse": list(self.worse)}
        return {**means, "difference": self.difference, **ends, **verdict, **changed}


class CommonQueries:
    """The queries that two sides have in common, in the order of the baseline."""

    def __init__(self, baseline: Side, candidate: Side) -> None:
        import numpy as np

        self.sides = baseline, candidate
        place = places_in(baseline, candidate)[candidate.queries]
        ours, _, at = np.intersect1d(baseline.queries, place, return_indices=True)
        self._places = ours, candidate.queries[at]

    def __len__(self) -> int:
        return len(self._places[0])

    def score(self, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return a score of both sides on the queries known to both, and these queries as places in the baseline."""
        import numpy as np

        first, second = (side.means(name)[places] for side, places in zip(self.sides, self._places, strict=True))
        known = ~(np.isnan(first) | np.isnan(second))
        return first[known], second[known], self._places[0][known]

    @property
    def solved_queries(self) -> set[QueryId]:
        """The common queries that the baseline solved in every trial."""
        baseline, places = self.sides[0], self._places[0]
        solved = baseline.means(JUDGED)[places] == 1
        return {baseline.trials.queries[place] for place in places[solved].tolist()}

    @property
    def unsure(self) -> int:
        """The trials of the candidate that were judged unsure, and count half."""
        import numpy as np

        side, places = self.sides[1], self._places[1]
        return int(((side.column(JUDGED) == STATUS_VALUES["Unsure"]) & np.isin(side.trials["query"], places)).sum())


def headline_scores(*sides: Side) -> tuple[str, ...]:
    """Return the scores of some sides that get verdicts."""
    leading = (name for side in sides for name in leading_scores(side.described))
    return tuple(dict.fromkeys([*leading, *HEADLINE]))


def paired_findings(
    pairs: Sequence[tuple[Side, Side]], margin: float, scores: Sequence[str] | None = None
) -> list[dict[str, ScoreFinding]]:
    """Return, for each pair of a baseline and a candidate, score -> finding, for every score that both have.

    The p-values are adjusted over the scores with any change: the chance of any false ``better`` or ``worse`` among
    them is 5 % at most. A false ``equivalent`` has a chance of about 5 % at most, for each finding.

    Args:
        margin: the largest difference that does not matter, set before the figures were seen; greater than 0.
        scores: None for the measures of the dataset, ``sopr_score`` and ``api_call_score``.
    """
    # Most of very many pairs have the same differences, and the search for an interval takes most of the time.
    interval = cache(lambda counts, largest: paired_interval(dict(counts), largest=largest))
    found: list[dict[str, ScoreFinding]] = [{} for _ in pairs]
    for own, sides in zip(found, pairs, strict=True):
        common = CommonQueries(*shared_trials(*sides))
        for score in scores if scores is not None else headline_scores(*sides):
            ours, theirs, places = common.score(score)
            if not len(places):
                continue
            differences = theirs - ours
            counts = count_values(differences)
            largest = 1.0 if all(score in side.bounded | side.quality for side in sides) else None
            queries = [sides[0].trials.queries[place] for place in places.tolist()]
            own[score] = ScoreFinding(
                baseline=sides[0].name,
                candidate=sides[1].name,
                score=score,
                n=len(places),
                baseline_mean=fmean(ours),
                candidate_mean=fmean(theirs),
                difference=fmean(differences),
                interval=interval(tuple(counts.items()), largest),
                p=paired_test(differences).p,
                p_adjusted=1.0,
                margin=margin,
                better=tuple(compress(queries, (differences > 0).tolist())),
                worse=tuple(compress(queries, (differences < 0).tolist())),
                pilot=Pilot.of(counts, largest=largest),
                bounded=largest is not None,
            )
    # Where nothing changed, the test can find nothing, and does not count as one (R. E. Tarone, "A Modified Bonferroni
    # Method for Discrete Data", Biometrics 46 (1990), 515-522).
    every = [(place, score) for place, own in enumerate(found) for score in own]
    adjusted = holm({(at, score): found[at][score].p for at, score in every if found[at][score].changed_queries})
    for at, score in every:
        p = adjusted.get((at, score), 1.0)
        found[at][score] = with_verdict(found[at][score], p, comparisons=max(1, len(adjusted)))
    return found


def with_verdict(finding: ScoreFinding, p_adjusted: float, *, comparisons: int) -> ScoreFinding:
    """Return the finding with its verdict among a number of comparisons made together."""
    verdict = paired_verdict(finding.interval, p_adjusted, finding.margin, changed=bool(finding.changed_queries))
    return replace(finding, p_adjusted=p_adjusted, comparisons=comparisons, verdict=verdict)


Ranks = Mapping[str, Mapping[str, tuple[int, int]]]
"""Score -> name -> the best and the worst rank."""

LEAST = 3
"""The fewest sides to rank; a verdict says all about two."""


def open_ranks(sides: Sequence[Side], margin: float, scores: Sequence[str] | None = None) -> Ranks:
    """Return the ranks of each side by each score, from the findings on every pair; empty for fewer than three sides.

    A void side has no rank. The best rank of a side is behind all that are better, the worst is before all that are
    worse. All sides with a rank in common are tied: without a shown difference, no difference is claimed. The p-values
    are adjusted over all pairs.

    Args:
        sides: with names that differ.
        margin: as for ``paired_findings``.
    """
    sides = [side for side in sides if not side.void]
    if len(sides) < LEAST:
        return {}
    ranks: dict[str, dict[str, tuple[int, int]]] = {}
    found = paired_findings(list(combinations(sides, 2)), margin, scores)
    for one in (finding for own in found for finding in own.values()):
        own = ranks.setdefault(one.score, {side.name: (1, len(sides)) for side in sides})
        if one.is_difference:
            worse, better = (one.baseline, one.candidate)[:: 1 if one.verdict == "better" else -1]
            own[worse] = own[worse][0] + 1, own[worse][1]
            own[better] = own[better][0], own[better][1] - 1
    return ranks


NO_ORDER = "no order is shown, as each may be at any rank"


def rank_notes(ranks: Ranks, named: Callable[[str], str] = score_title) -> Iterator[str]:
    """Return the ranks in words, the best first, sides with the same ranks together; then the meaning of ranks.

    Args:
        named: names a score.
    """
    said: dict[str, list[str]] = {}
    for score, found in ranks.items():
        bands = group_by_key((rank, name) for name, rank in sorted(found.items(), key=lambda item: item[1]))
        texts = [
            f"{low if low == high else f'{low} to {high}'} {', '.join(names)}" for (low, high), names in bands.items()
        ]
        said.setdefault("; ".join(texts) if len(texts) > 1 else NO_ORDER, []).append(named(score))
    yield from (f"ranks by {' and by '.join(names)}: {text}." for text, names in said.items())
    sides = max((len(found) for found in ranks.values()), default=0)
    if set(said) - {NO_ORDER}:
        pairs = sides * (sides - 1) // 2
        yield (
            f"Frameworks share a rank unless one is shown to be better. p is adjusted over all {pairs} pairs here, so "
            "ranks may show less than the comparison with one of them."
        )


def finding_cells(finding: ScoreFinding | None) -> tuple[str, str]:
    """Return the adjusted p-value and the verdict of a finding; empty for scores without one."""
    if finding is None:
        return "", ""
    if finding.verdict == "identical":
        return "", "identical"
    p = finding.p_adjusted
    needed = f" ({finding.queries_needed:,})" if finding.queries_needed else ""
    return "<0.001" if p < 0.001 else f"{p:.3f}", f"{finding.verdict}{needed}"


def verdict_notes(findings: Sequence[ScoreFinding]) -> Iterator[str]:
    """Yield the notes that explain the verdicts among these findings."""
    verdicts = {finding.verdict for finding in findings}
    tested = sorted({finding.comparisons for finding in findings if finding.changed_queries})
    if tested:
        adjusted = f", adjusted by Holm's method over the {tested[-1]} comparisons made at once"
        yield (
            f"p: McNemar's exact or a paired permutation test{adjusted if tested[-1] > 1 else ''}; better and worse "
            "have p below 0.05 and an interval without 0."
        )
    if "equivalent" in verdicts:
        yield f"equivalent: shown to differ by less than {findings[0].margin:g}, the margin."
    if "identical" in verdicts:
        yield "identical: the same on every task asked; how far others may differ, the interval says."
    if "too few" in verdicts:
        yield (
            "too few: too few tasks to tell; about as many as the number in brackets would show either a difference "
            "or that it is less than the margin, if differences continue like this."
        )
    if boundless := dict.fromkeys(score_title(finding.score) for finding in findings if not finding.bounded):
        yield (
            f"{' and '.join(boundless)}: no bounds are declared, so the interval takes tasks that were not asked to "
            "differ by no more than those that were."
        )


def changes_text(finding: ScoreFinding) -> str:
    """Return the changed queries of a finding in words, or an empty text."""
    texts = []
    for kind, queries in {"worse": finding.worse, "better": finding.better}.items():
        ordered = sorted(queries, key=lambda query: (isinstance(query, str), query))
        shown, left = ", ".join(map(str, ordered[:MOST_QUERIES])), len(queries) - MOST_QUERIES
        more = f" and {left:,} more (--json has all)" if left > 0 else ""
        texts += [f"{kind} on {'task' if len(queries) == 1 else 'tasks'} {shown}{more}"] if queries else []
    return "; ".join(texts)


def difference_text(finding: ScoreFinding) -> str:
    """Return the difference of a finding with its interval, of two digits."""
    return f"{finding.difference:+.2f} [{finding.interval.low:+.2f}, {finding.interval.high:+.2f}]"


REFERENCE = "reference"

Kind = Literal["reference", "profile"]
"""Why two frameworks are compared, with the run's baseline, or with the controlled profile of the same framework."""


@dataclass(frozen=True)
class FrameworkComparison:
    """The findings on a framework against another of its run, by score."""

    kind: Kind
    against: str
    scores: Mapping[str, ScoreFinding]


def compare_frameworks(
    sides: Mapping[str, Side], *, against: str | None, margin: float
) -> dict[str, tuple[FrameworkComparison, ...]]:
    """Return the comparisons of a run's frameworks.

    Args:
        sides: framework -> its trials.
        against: the framework that the others are compared with; None for ``reference``, or the first if that is not
            in the run.
        margin: the largest difference of a score that does not matter.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    pairs = run_pairs(list(sides.values()), against)
    judged = paired_findings([(baseline, candidate) for baseline, candidate, _ in pairs], margin)
    found: dict[str, list[FrameworkComparison]] = {name: [] for name in sides}
    for (baseline, candidate, kind), scores in zip(pairs, judged, strict=True):
        found[candidate.name].append(FrameworkComparison(kind, baseline.name, scores))
    return {name: tuple(own) for name, own in found.items()}


def run_pairs(sides: Sequence[Side], against: str | None) -> list[tuple[Side, Side, Kind]]:
    """Return the pairs of a run that are compared together, the same for every command, without void sides.

    Returns:
        Baseline, candidate and why they are compared; each pair once.

    Raises:
        UsageError: the framework to compare with is not in the run.
    """
    by_name = {side.name: side for side in sides}
    kinds: dict[tuple[str, str], Kind] = {}
    baseline = chosen_baseline(list(by_name), against)
    for name in by_name:
        if name != baseline:
            # The baseline with the settings of a framework that has its own.
            alike = f"{varied_framework(baseline)}{SETTINGS}{label_settings(name)}"
            has_own = label_settings(name) and alike != name and alike in by_name
            kinds[alike if has_own else baseline, name] = "reference"
    packages = {name: (framework_name(name), framework_release(name), label_settings(name)) for name in by_name}
    controlled = {packages[name]: name for name in by_name if framework_profile(name) == CONTROLLED}
    for name in by_name:
        if framework_profile(name) == NATIVE and packages[name] in controlled:
            kinds.setdefault((controlled[packages[name]], name), "profile")
    pairs = [(by_name[one], by_name[other], kind) for (one, other), kind in kinds.items()]
    return [pair for pair in pairs if not (pair[0].void or pair[1].void)]


def chosen_baseline(frameworks: Sequence[str], against: str | None) -> str:
    """Return the framework that the others are compared with, by its label, or by its name if that is unique.

    Raises:
        UsageError: it is not among them, or the name alone means several.
    """
    if against is None:
        return next(iter(meant_labels(REFERENCE, frameworks)), frameworks[0])
    meant = meant_labels(against, frameworks)
    if len({*map(varied_framework, meant)}) == 1:
        return meant[0]
    raise UsageError(f"--against: {against!r} is not one framework of the run: {', '.join(frameworks)}")
