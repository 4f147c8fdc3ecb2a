"""A comparison of runs as tables and as records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trialbed.records import ScoreDescription, failures_line, shown_name
from trialbed.report.comparison._findings import ScoreFinding, explanations, rank_notes
from trialbed.report.comparison._sides import setting_label, setting_value
from trialbed.scoring import JUDGED, judge_note
from trialbed.texts import number_of
from trialbed.views import UNKNOWN, Table, compact, number

if TYPE_CHECKING:
    from trialbed.report.comparison._differences import Recovery, RunComparison, ScoreDifference

MOST_QUERIES = 20
"""Queries that a note lists."""


def comparison_tables(
    comparisons: Sequence[RunComparison],
    described: Mapping[str, ScoreDescription] | None = None,
    named: Callable[[str], str] | None = None,
) -> list[Table]:
    """A table for each candidate: both means of each score, and their paired difference with its interval.

    A candidate that is a run with faults has one more, of its recovery.

    Args:
        described: the descriptions of scores by name, for their units; those that the runs keep come first.
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
    recoveries = [
        _recovery_table(one.recovery, one.baseline.name, one.candidate.name) for one in comparisons if one.recovery
    ]
    notes = [*tables[-1].notes, *rank_notes(comparisons[-1].ranks, named=named or shown_name)]
    return [*tables[:-1], replace(tables[-1], notes=notes), *recoveries]


def _recovery_table(found: Recovery, baseline: str, candidate: str) -> Table:
    """Return the table of a candidate's recovery."""
    share = UNKNOWN
    if found.value is not None:
        share = f"{number(found.value)} [{number(found.low)}, {number(found.high)}]"
    rows = [
        ("solved without faults", f"{found.solved_without} of {number_of(found.trials, 'trial')}"),
        ("solved with faults", f"{found.solved_with} of {number_of(found.trials, 'trial')}"),
        ("recovery", share),
        ("injected instructions obeyed", f"in {found.obeyed} of {number_of(found.injected, 'trial')} that met one"),
    ]
    notes = [
        "recovery: of the trials that were solved without faults, the share that was solved with them, with its 95 % "
        "interval. Where answers vary by themselves, it is below 1 without any fault: compare two runs without faults "
        "to see by how much."
    ]
    return Table.of(f"recovery of {candidate} from faults, against {baseline}", ("", candidate), rows, notes)


def comparison_records(comparisons: Sequence[RunComparison]) -> list[dict[str, Any]]:
    """Return one record per candidate and score."""
    records = []
    for comparison in comparisons:
        names = {"baseline": comparison.baseline.name, "candidate": comparison.candidate.name}
        for name, found in comparison.scores.items():
            interval, finding = found.difference.interval, comparison.findings.get(name)
            means = {"n": found.n, "baseline_mean": found.baseline, "candidate_mean": found.candidate}
            ends = {end: getattr(interval, end, None) for end in ("low", "high")}
            verdict = {part: getattr(finding, part, None) for part in ("p_adjusted", "verdict")}
            records.append({**names, "score": name, **means, "difference": found.difference.value, **ends, **verdict})
    return records


def _table(
    found: RunComparison, described: Mapping[str, ScoreDescription], named: Callable[[str], str] | None
) -> Table:
    baseline, candidate = found.baseline, found.candidate
    common = number_of(len(found.common), "common query", "common queries")
    title = f"{candidate.name} compared with {baseline.name}: means over {common} of {baseline.about.test_set}"
    columns = ("", baseline.name, candidate.name, "difference", "queries", "p", "verdict")
    rows = [
        (
            named(name) if named else described[name].label if name in described else shown_name(name),
            *_cells(score),
            *finding_cells(found.findings.get(name)),
        )
        for name, score in found.scores.items()
    ]
    table = Table.of(title, columns, rows, _notes(found, named or shown_name), _legend(found))
    table = replace(table, rows=[replace(row, alarming=row.cells[-1] == "worse") for row in table.rows])
    # The title has both names; and a verdict in another block than its difference could not be read.
    short = replace(table, columns=("", "baseline", "candidate", *columns[3:]))
    fewer = replace(short.without("queries"), narrow=short.without("queries", "baseline", "candidate"))
    return replace(table, narrow=replace(short, narrow=fewer))


def finding_cells(finding: ScoreFinding | None) -> tuple[str, str]:
    """The adjusted p-value and the verdict of a finding; empty for scores without one."""
    if finding is None:
        return "", ""
    if finding.verdict == "identical":
        return "", "identical"
    p = finding.p_adjusted
    needed = f" ({finding.queries_needed:,})" if finding.queries_needed else ""
    return "<0.001" if p < 0.001 else f"{p:.3f}", f"{finding.verdict}{needed}"


def finding_notes(findings: Sequence[ScoreFinding], named: Callable[[str], str] = shown_name) -> Iterator[str]:
    """Yield the notes that stand below p-values and verdicts: over how many p is adjusted, and what seems to differ.

    Args:
        named: names a score.
    """
    if several := _comparisons(findings):
        yield f"p is adjusted over the {several} made at once."
    yield from explanations(findings, named)


def _comparisons(findings: Sequence[ScoreFinding]) -> str:
    """Return over how many comparisons p-values are adjusted; empty without p-values, and of one comparison alone."""
    tested = sorted({finding.comparisons for finding in findings if finding.changed_queries})
    return f"{' and '.join(map(str, tested))} comparisons" if tested[-1:] > [1] else ""


def verdict_notes(findings: Sequence[ScoreFinding]) -> Iterator[str]:
    """Yield the notes that explain the verdicts among these findings."""
    verdicts = {finding.verdict for finding in findings}
    if any(finding.changed_queries for finding in findings):
        several = _comparisons(findings)
        adjusted = f", adjusted by Holm's method over the {several} made at once" if several else ""
        yield f"p: McNemar's exact or a paired permutation test{adjusted}; better and worse are below 0.05."
    if "equivalent" in verdicts:
        yield f"equivalent: shown to differ by less than {findings[0].margin:g}, the margin."
    if "identical" in verdicts:
        yield "identical: the same on every query asked; how far others may differ, the interval says."
    if "too few" in verdicts:
        yield (
            "too few: too few queries to tell; about as many as the number in brackets would show either a difference "
            "or that it is less than the margin, if differences go on as they are."
        )
    if boundless := dict.fromkeys(shown_name(finding.score) for finding in findings if not finding.bounded):
        yield (
            f"{' and '.join(boundless)}: no bounds are declared, so the interval takes queries that were not asked to "
            "differ by no more than those that were."
        )


def changes_text(finding: ScoreFinding) -> str:
    """Return the queries of a finding that changed, in words; empty where none did."""
    texts = []
    for kind, queries in {"worse": finding.worse, "better": finding.better}.items():
        ordered = sorted(queries, key=lambda query: (isinstance(query, str), query))
        shown, left = ", ".join(map(str, ordered[:MOST_QUERIES])), len(queries) - MOST_QUERIES
        more = f" and {left:,} more (--json has all)" if left > 0 else ""
        texts += [f"{kind} on {'query' if len(queries) == 1 else 'queries'} {shown}{more}"] if queries else []
    return "; ".join(texts)


def _cells(found: ScoreDifference) -> tuple[str, str, str, str]:
    shown = number if found.bounded else compact
    value, interval, text = found.difference.value, found.difference.interval, UNKNOWN
    if value is not None:
        ends = (interval.low, interval.high) if interval else (None, None)
        of, low, high = (f"+{shown(one)}" if one is not None and one > 0 else shown(one) for one in (value, *ends))
        text = f"{of} [{low}, {high}]"
    return shown(found.baseline), shown(found.candidate), text, str(found.n)


def difference_text(finding: ScoreFinding) -> str:
    """Return the difference of a finding with its interval, of two digits."""
    return f"{finding.difference:+.2f} [{finding.interval.low:+.2f}, {finding.interval.high:+.2f}]"


def _legend(found: RunComparison) -> Iterator[str]:
    yield (
        f"difference is {found.candidate.name} less {found.baseline.name}, query by query, with its "
        "95 % interval over queries that both have. A failed trial is 0 in scores of quality; other figures are of "
        "trials without failure."
    )
    yield from verdict_notes(list(found.findings.values()))
    ours, theirs = (side.about.run_id for side in (found.baseline, found.candidate))
    if ours and theirs and ours != theirs and ours not in found.baseline.name:
        yield f"{found.baseline.name} is of run {ours}, and {found.candidate.name} of run {theirs}."


def _notes(found: RunComparison, named: Callable[[str], str]) -> Iterator[str]:
    sides = (found.baseline, found.candidate)
    if JUDGED in found.scores:
        notes = (judge_note(side.about.settings["evaluator_model"], side.about.judge) for side in sides)
        yield from dict.fromkeys(filter(None, notes))
    yield from finding_notes(list(found.findings.values()), named)
    yield from (
        f"{named(name)}: {text}." for name, finding in found.findings.items() if (text := changes_text(finding))
    )
    if others := [name for name, score in found.scores.items() if not score.whole]:
        # Words may have commas of their own.
        names = (", " if named is shown_name else "; ").join(map(named, others))
        yield (
            f"{names}: means over the queries that both have, each counted once; those over all trials stand in the "
            "table of each run."
        )
    for side, only in zip(sides, found.only.values(), strict=True):
        if only:
            are, them = ("is", "it") if only == 1 else ("are", "them")
            yield f"{number_of(only, 'query', 'queries')} {are} left out, as only {side.name} has {them}."
    for key, (ours, theirs) in found.settings.items():
        values = f"{setting_value(key, ours)} and {setting_value(key, theirs)}"
        yield f"{setting_label(key)}: {values}, which are not the same."
    for side in sides:
        if side.failures:
            failed = number_of(sum(side.failures.values()), "trial")
            yield f"{side.name}: {failed} failed: {failures_line(side.failures.items())}."
    yield from (f"{note[0].upper()}{note[1:]}." for note in found.notes)
