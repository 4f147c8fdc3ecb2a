"""Compare the sides of several runs by paired differences, regressions, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from statistics import fmean
from typing import Any

from trialbed.errors import UsageError
from trialbed.records import ScoreDescription, failures_line, score_title
from trialbed.report.comparison._findings import (
    MOST_QUERIES,
    CommonQueries,
    Ranks,
    ScoreFinding,
    changes_text,
    finding_cells,
    headline_scores,
    open_ranks,
    paired_findings,
    rank_notes,
    run_pairs,
    verdict_notes,
)
from trialbed.report.comparison._sides import (
    JUDGE_KEYS,
    Side,
    are_same_trials,
    incomplete_note,
    read_groups,
    setting_label,
    setting_value,
    shared_trials,
    unique_names,
    unlike_settings,
    void_notes,
)
from trialbed.scoring import JUDGED, judge_note
from trialbed.settings import MARGIN
from trialbed.statistics import (
    RESAMPLES,
    Estimate,
    count_values,
    mean_estimate,
    paired_interval,
    paired_test,
    paired_verdict,
)
from trialbed.texts import first_of, number_of
from trialbed.views import UNKNOWN, Table, TestCase, TestOutcome, compact, number

FEW = 10
"""The fewest queries for reliable bootstrap intervals of tokens, turns and times; with fewer, these are too narrow."""


@dataclass(frozen=True)
class RunComparison:
    """A candidate compared with the baseline.

    Attributes:
        margin, force: as ``compare_groups`` takes them.
        findings: the verdicts, by score.
        notes: conditions that distort the figures.
        ranks: score -> name -> the best and the worst rank over all sides that are compared.
    """

    baseline: Side
    candidate: Side
    margin: float
    force: bool
    findings: Mapping[str, ScoreFinding]
    notes: Sequence[str]
    ranks: Ranks = field(default_factory=dict)

    @cached_property
    def common(self) -> CommonQueries:
        """The queries that both have; others are left out."""
        return CommonQueries(self.baseline, self.candidate)

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the scores over the queries with a value on both sides.

        Each has their number, the means, the mean difference with its interval, and on how many of them the candidate
        is higher, and lower.
        """
        theirs = set(self.candidate.scores)
        return {name: _score(name, self.common) for name in self.baseline.scores if name in theirs}

    @property
    def settings(self) -> Mapping[str, Sequence[Any]]:
        """The settings that differ, with the value of each side."""
        sides = self.baseline, self.candidate
        return {key: [side.about[key] for side in sides] for key in unlike_settings(sides)}

    @property
    def only(self) -> dict[str, int]:
        """The numbers of queries that only the baseline and only the candidate has."""
        sides = {"baseline": self.baseline, "candidate": self.candidate}
        return {name: len(side.queries) - len(self.common) for name, side in sides.items()}

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        sides = {"baseline": self.baseline, "candidate": self.candidate}
        return {
            **{
                name: {"source": side.source, "name": side.name, **side.about}
                | {"missing": side.missing, "failures": side.failures}
                for name, side in sides.items()
            },
            "queries": {"common": len(self.common), **{f"only_{name}": only for name, only in self.only.items()}},
            "settings": dict(self.settings),
            "scores": self.scores,
            "findings": {name: found.as_json() for name, found in self.findings.items()},
            "options": {"margin": self.margin, "force": self.force, "resamples": RESAMPLES, "seed": 0},
            "notes": list(self.notes),
            "ranks": {score: {name: list(rank) for name, rank in own.items()} for score, own in self.ranks.items()},
        }


def _compare_pairs(
    pairs: Iterable[tuple[Side, Side]], margin: float, *, force: bool = False, allow_incomplete: bool = False
) -> list[RunComparison]:
    """Compare each candidate with its baseline; the p-values are adjusted over all pairs together.

    Raises:
        UsageError: a pair is the same trials, of different datasets, incomplete, or has no query in common.
    """
    comparable = []
    for pair in pairs:
        if not allow_incomplete:
            check_complete(pair)
        # If one side only has times of first trials, both sides' times include first trials.
        apart = all(side.first_apart for side in pair)
        baseline, candidate = (replace(side, first_apart=apart) for side in shared_trials(*pair))
        notes = _check_sides(baseline, candidate, force=force)
        if not force and judges_differ(baseline, candidate):
            baseline, candidate = baseline.without(JUDGED), candidate.without(JUDGED)
        comparable.append((baseline, candidate, notes))
    findings = paired_findings([(baseline, candidate) for baseline, candidate, _ in comparable], margin)
    return [
        RunComparison(baseline, candidate, margin, force, found, notes)
        for (baseline, candidate, notes), found in zip(comparable, findings, strict=True)
    ]


def check_complete(sides: Iterable[Side]) -> None:
    """Check that runs have measured all of their trials.

    Raises:
        UsageError: one has not.
    """
    for note in filter(None, map(incomplete_note, sides)):
        raise UsageError(
            f"{note}, so its scores would cover only some of the tasks; repeat the same `bench run` to finish it, or "
            "give --allow-incomplete (allow_incomplete=True in Python) to compare what both have measured"
        )


def _check_sides(baseline: Side, candidate: Side, *, force: bool) -> list[str]:
    """Return notes on conditions that distort the figures; raise an error if the figures would mean nothing."""
    notes = [
        f"INCOMPLETE: {note}; the figures are over the tasks and repeats that both have measured"
        for side in (baseline, candidate)
        if (note := incomplete_note(side))
    ]
    common, both = CommonQueries(baseline, candidate), f"{baseline.source} and {candidate.source}"
    if not common and (baseline.missing or candidate.missing):
        raise UsageError(f"{both} have no measured task in common yet")
    if not common:
        of = f"{baseline.about['test_set']} and {candidate.about['test_set']}"
        raise UsageError(f"{both} have no task in common, so there is nothing to compare: their datasets are {of}")
    datasets = [(side.about["test_set"], side.about["dataset_digest"]) for side in (baseline, candidate)]
    test_sets, digests = map(set, zip(*datasets, strict=True))
    if len(test_sets if None in digests else digests) > 1:
        problem = f"the datasets differ ({' and '.join(f'{name} {str(digest)[:12]}' for name, digest in datasets)})"
        if not force:
            raise UsageError(
                f"{both}: {problem}, so tasks with the same id may differ; --force compares the "
                f"{len(common)} tasks of the same id are compared"
            )
        notes.append(f"{problem}: tasks of the same id may be different tasks")
    if judges_differ(baseline, candidate):
        outcome = "; they are compared because of --force" if force else f": {score_title(JUDGED)} is left out"
        notes.append(f"the judges differ, and verdicts of different judges are not comparable{outcome}")
    facts = [side.trials.columns.get("facts", ()) for side in (baseline, candidate)]  # documents have none
    own = [any("own_calls" in one for one in found) for found in facts]
    if own[0] != own[1] and all(side.trials["api_calls"].sum() for side in (baseline, candidate)):
        first, second = (candidate, baseline) if own[1] else (baseline, candidate)
        notes.append(
            f"calls of {first.name} to its own tools are read from the conversation, those of {second.name} are "
            "measured at the server"
        )
    if len(common) < FEW:
        notes.append(
            f"only {number_of(len(common), 'task', 'tasks')}: the intervals of tokens, turns and times are narrower "
            "than they should be"
        )
    return notes


def judges_differ(baseline: Side, candidate: Side) -> bool:
    """Return whether the verdicts of two sides are of different judges."""
    if any(baseline.about[key] != candidate.about[key] for key in JUDGE_KEYS):
        return True
    # Documents of other programs say less of their judge.
    ours, theirs = (side.about["judge"] or {} for side in (baseline, candidate))
    return any(
        ours[key] != theirs[key] for key in ("driver", "model", "prompts", "rules") if key in ours and key in theirs
    )


def _score(name: str, common: CommonQueries) -> dict[str, Any]:
    import numpy as np

    baseline, (ours, theirs, places) = common.sides[0], common.score(name)
    values, n, bounded = theirs - ours, len(places), name in baseline.bounded
    if not n:
        difference = Estimate(None, None, 0)
    elif bounded or name in baseline.quality:
        difference = Estimate(fmean(values), paired_interval(values), n)
    else:
        # In one order: the same trials then give the same draws from every source.
        difference = mean_estimate(values[np.argsort(baseline.order[places])])
    means = {side: fmean(own) if n else None for side, own in (("baseline", ours), ("candidate", theirs))}
    changed = {"better": int((values > 0).sum()), "worse": int((values < 0).sum())}
    return {"n": n, "bounded": bounded, **means, "difference": difference.as_json(), **changed}


def compare_groups(
    groups: Sequence[Sequence[Side]], margin: float = MARGIN, *, force: bool = False, allow_incomplete: bool = False
) -> list[RunComparison]:
    """Compare the sides of later runs with the first run's side of the same framework, or with its only one.

    Args:
        margin: the largest difference of a score that does not matter.
        force: compare the queries of the same id even if the datasets differ, and verdicts of different judges.
        allow_incomplete: compare what both have measured of runs that lack trials.

    Raises:
        UsageError: they cannot be compared, such as over different datasets, or as all of them are void.
    """
    pairs = [pair for pair in _pairs(groups) if not any(side.void for side in pair)]
    every = [side for group in groups for side in group]
    void = list(void_notes(every))
    if not pairs:
        raise UsageError("; ".join(void))
    found = _compare_pairs(pairs, margin, force=force, allow_incomplete=allow_incomplete)
    every = unique_names(every)
    # A score that cannot be compared between some of them ranks none, and so do figures over different queries.
    is_complete = not any(side.missing for side in every)
    shared = [name for name in headline_scores(*every) if is_complete and all(name in one.findings for one in found)]
    ranks = open_ranks(every, margin, shared)
    found[-1] = replace(found[-1], notes=[*found[-1].notes, *void])
    return [replace(one, ranks=ranks) for one in found]


def complete_sides(value: str, store: str | None) -> list[Side]:
    """Return the sides of a run or a result document that has all of its trials.

    Raises:
        UsageError, DataError: trials are missing, or it cannot be found.
    """
    (sides,) = read_groups([value], store)
    check_complete(sides)
    return sides


def baseline_comparisons(
    baseline: Sequence[Side], sides: Sequence[Side], margin: float
) -> tuple[list[RunComparison], list[str]]:
    """Compare a run with a baseline; also returns a line for each void row.

    Raises:
        UsageError: they cannot be compared, such as over different datasets.
    """
    every = list(_pairs([baseline, sides]))
    void = dict.fromkeys(void_notes(side for pair in every for side in pair))
    pairs = [pair for pair in every if not any(side.void for side in pair)]
    # The figures of a run that lacks trials were accepted by --allow-incomplete, or its exit code says so.
    return list(_compare_pairs(pairs, margin, allow_incomplete=True)), list(void)


def lost_task_lines(comparisons: Iterable[RunComparison]) -> Iterator[str]:
    """Yield a line for each framework that never solves a task any more that its baseline always solved.

    With repeatable agents this is a fact, even with few tasks.
    """
    for comparison in comparisons:
        if JUDGED not in comparison.findings:
            yield f"{comparison.candidate.name}: it is not known which tasks it still solves: no common verdicts"
            continue
        ours, theirs, places = comparison.common.score(JUDGED)
        lost = places[(ours == 1) & (theirs == 0)].tolist()
        known = {comparison.baseline.trials.queries[place] for place in places.tolist()}
        if unknown := sorted(map(str, comparison.common.solved_queries - known)):
            tasks = f"{number_of(len(unknown), 'task')} that {comparison.baseline.name} always solved"
            yield f"{comparison.candidate.name} has no verdict on {tasks}: {first_of(unknown, MOST_QUERIES)}"
        if lost:
            names = [str(comparison.baseline.trials.queries[place]) for place in lost]
            tasks = f"{number_of(len(lost), 'task')} that {comparison.baseline.name} always solved"
            yield f"{comparison.candidate.name} never solves {tasks}: {first_of(names, MOST_QUERIES)}"


def powerless_notes(comparisons: Iterable[RunComparison]) -> Iterator[str]:
    """Yield a note for each comparison that could not show any score to be worse, even if everything was lost."""
    for comparison in comparisons:
        findings = comparison.findings.values()
        if not any(_can_be_worse(finding.n, finding.comparisons) for finding in findings if finding.bounded):
            tasks = number_of(max((finding.n for finding in findings), default=0), "task")
            yield f"with {tasks} this comparison cannot fail: {comparison.candidate.name} could lose all of them"


@cache
def _can_be_worse(tasks: int, comparisons: int) -> bool:
    lost = [-1.0] * tasks
    p = min(1.0, paired_test(lost).p * comparisons)
    return paired_verdict(paired_interval(count_values(lost), largest=1.0), p, MARGIN) == "worse"


def regression_lines(comparisons: Iterable[RunComparison]) -> list[str]:
    """Return a line for each framework and score that is shown to be worse than its baseline, with other settings."""
    return [test.message for test in finding_tests(comparisons) if test.outcome == "failure"]


def finding_tests(comparisons: Iterable[RunComparison]) -> Iterator[TestCase]:
    """Yield a test per framework and score; it fails if that is worse, and is skipped if there are too few queries."""
    outcomes: dict[str, TestOutcome] = {"worse": "failure", "too few": "skipped"}
    for comparison in comparisons:
        # Settings that differ from the baseline's may be the cause.
        changed = (
            f"; {setting_label(key)} is {setting_value(key, ours)} in place of {setting_value(key, theirs)}"
            for key, (theirs, ours) in comparison.settings.items()
        )
        cause = "".join(changed)
        candidate, baseline = comparison.candidate.name, comparison.baseline.name
        for score, finding in comparison.findings.items():
            words = "is worse than" if finding.verdict == "worse" else "is neither shown to be better nor worse than"
            interval = f"{finding.difference:.4f} [{finding.interval.low:.4f}, {finding.interval.high:.4f}]"
            queries, name = number_of(finding.n, "task", "tasks"), score_title(score)
            message = f"{candidate} {words} {baseline}: {name} differs by {interval} over {queries}{cause}"
            outcome, kind = outcomes.get(finding.verdict, "passed"), finding.verdict.replace(" ", "-")
            yield TestCase(f"{candidate} against {baseline}", name, outcome=outcome, kind=kind, message=message)


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
        yield from ((one, other) for one, other, _ in run_pairs(first, first[0].against))
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
                f"{candidate.about['run_id']}; name another run (`bench runs` lists them), or one run alone to compare "
                "its frameworks"
            )
        yield named[id(same[0])], named[id(candidate)]


def comparison_tables(
    comparisons: Sequence[RunComparison],
    described: Mapping[str, ScoreDescription] | None = None,
    named: Callable[[str], str] | None = None,
) -> list[Table]:
    """Return a table for each candidate, with both means and the paired difference of each score, and its interval.

    Args:
        described: the descriptions of scores by name, for their units; descriptions kept by the runs come first.
        named: names a score, for pages; None for the names that options take.
    """
    tables = [
        _table(one, {**(described or {}), **one.baseline.described, **one.candidate.described}, named)
        for one in comparisons
    ]
    said = set[str]()
    for place, one in enumerate(tables if named else ()):
        # A page says each note once.
        notes, legend = ([note for note in part if note not in said] for part in (one.notes, one.legend))
        said.update(one.notes, one.legend)
        tables[place] = replace(one, notes=notes, legend=legend)
    notes = [*tables[-1].notes, *rank_notes(comparisons[-1].ranks, named=named or score_title)]
    return [*tables[:-1], replace(tables[-1], notes=notes)]


def comparison_records(comparisons: Sequence[RunComparison]) -> list[dict[str, Any]]:
    """Return one record per candidate and score."""
    records = []
    for comparison in comparisons:
        names = {"baseline": comparison.baseline.name, "candidate": comparison.candidate.name}
        for name, found in comparison.scores.items():
            finding, difference = comparison.findings.get(name), found["difference"]
            means = {"n": found["n"], "baseline_mean": found["baseline"], "candidate_mean": found["candidate"]}
            ends = {"difference": difference["value"], **{end: difference[end] for end in ("low", "high")}}
            verdict = {part: getattr(finding, part, None) for part in ("p_adjusted", "verdict")}
            records.append({**names, "score": name, **means, **ends, **verdict})
    return records


def _table(
    found: RunComparison, described: Mapping[str, ScoreDescription], named: Callable[[str], str] | None
) -> Table:
    baseline, candidate = found.baseline, found.candidate
    common = number_of(len(found.common), "common task", "common tasks")
    title = f"{candidate.name} compared with {baseline.name}: means over {common} of {baseline.about['test_set']}"
    columns = ("", baseline.name, candidate.name, "difference", "tasks", "p", "verdict")
    rows = [
        (
            named(name) if named else described[name].label if name in described else score_title(name),
            *_cells(score),
            *finding_cells(found.findings.get(name)),
        )
        for name, score in found.scores.items()
    ]
    table = Table.of(title, columns, rows, _notes(found, named or score_title), _legend(found))
    table = replace(table, rows=[replace(row, alarming=row.cells[-1] == "worse") for row in table.rows])
    # The title has both names; and a verdict in another block than its difference could not be read.
    short = replace(table, columns=("", "baseline", "candidate", *columns[3:]))
    fewer = replace(short.without("tasks"), narrow=short.without("tasks", "baseline", "candidate"))
    return replace(table, narrow=replace(short, narrow=fewer))


def _cells(found: Mapping[str, Any]) -> tuple[str, str, str, str]:
    shown = number if found["bounded"] else compact
    text = UNKNOWN
    if found["difference"]["value"] is not None:
        ends = (found["difference"][name] for name in ("value", "low", "high"))
        of, low, high = (f"+{shown(one)}" if one is not None and one > 0 else shown(one) for one in ends)
        text = f"{of} [{low}, {high}]"
    return shown(found["baseline"]), shown(found["candidate"]), text, str(found["n"])


def _legend(found: RunComparison) -> Iterator[str]:
    yield (
        f"difference is {found.candidate.name} less {found.baseline.name}, task by task, with its "
        "95 % interval over tasks that both have. A failed trial is 0 in scores of quality; other figures are of "
        "trials without failure. Each task counts once, so means may differ from those over all trials of a run."
    )
    yield from verdict_notes(list(found.findings.values()))
    ours, theirs = (side.about["run_id"] for side in (found.baseline, found.candidate))
    if ours and theirs and ours != theirs and ours not in found.baseline.name:
        yield f"{found.baseline.name} is of run {ours}, and {found.candidate.name} of run {theirs}."


def _notes(found: RunComparison, named: Callable[[str], str]) -> Iterator[str]:
    sides = (found.baseline, found.candidate)
    if JUDGED in found.scores:
        notes = (judge_note(side.about["evaluator_model"], side.about["judge"]) for side in sides)
        yield from dict.fromkeys(filter(None, notes))
    yield from (
        f"{named(name)}: {text}." for name, finding in found.findings.items() if (text := changes_text(finding))
    )
    for side, only in zip(sides, found.only.values(), strict=True):
        if only:
            are, them = ("is", "it") if only == 1 else ("are", "them")
            yield f"{number_of(only, 'task', 'tasks')} {are} left out, as only {side.name} has {them}."
    for key, (ours, theirs) in found.settings.items():
        values = f"{setting_value(key, ours)} and {setting_value(key, theirs)}"
        yield f"{setting_label(key)}: {values}, which are not the same."
    for side in sides:
        if side.failures:
            failed = number_of(sum(side.failures.values()), "trial")
            yield f"{side.name}: {failed} failed: {failures_line(side.failures.items())}."
    yield from (f"{note[0].upper()}{note[1:]}." for note in found.notes)
