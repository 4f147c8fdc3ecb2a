"""Comparisons of the sides of several runs, and what they show to be worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from trialbed.errors import UsageError
from trialbed.records import shown_name
from trialbed.report.comparison._differences import ComparisonOptions, RunComparison, check_complete, compare_pairs
from trialbed.report.comparison._documents import read_sides
from trialbed.report.comparison._findings import headline_scores, open_ranks
from trialbed.report.comparison._run import run_pairs
from trialbed.report.comparison._sides import (
    Side,
    are_same_trials,
    setting_label,
    setting_value,
    unique_names,
    void_notes,
)
from trialbed.texts import number_of


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
        for score, finding in comparison.findings.items():
            if finding.verdict == "worse":
                names = f"{comparison.candidate.name} is worse than {comparison.baseline.name}"
                interval = f"{finding.difference:.4f} [{finding.interval.low:.4f}, {finding.interval.high:.4f}]"
                queries = number_of(finding.n, "query", "queries")
                differs = f"{shown_name(score)} differs by {interval} over {queries}"
                yield f"{names}: {differs}{_changed(comparison)}"


def _changed(found: RunComparison) -> str:
    """Return the settings that are not those of the baseline, which may be the cause."""
    changed = (
        f"{setting_label(key)} is {setting_value(key, ours)} in place of {setting_value(key, theirs)}"
        for key, (theirs, ours) in found.settings.items()
    )
    return "".join(f"; {one}" for one in changed)


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
        yield from ((pair.baseline, pair.candidate) for pair in run_pairs(first, first[0].about.against))
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
