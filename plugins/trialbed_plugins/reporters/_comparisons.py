"""The tables below a run's figures: where calls were lost, and comparisons of its setups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from trialbed.attribution import USED
from trialbed.records import NATIVE, PROFILE, STAGES, score_title
from trialbed.report import Report, Summary
from trialbed.report.comparison import (
    FrameworkComparison,
    difference_text,
    finding_cells,
    rank_notes,
    verdict_notes,
)
from trialbed.views import UNKNOWN, Table, TableRow

TITLE = "where calls were lost"

LEGEND = {
    "not offered": "its tool was not selected, or the framework did not offer it",
    "not called": "the model did not ask for it",
    "wrong arguments": "the model asked for its tool, but not with the right arguments",
    "not made": "the model asked for it, but the framework did not call the tool, or with other arguments",
    "api failed": "the tool answered with an error",
    "trial failed": "the trial ended in an error, before the call or after it",
    "not used": "nothing of its result is in an answer of the agent or in a later call",
}


def attribution_tables(report: Report) -> list[Table]:
    """Return the waterfall of each framework's expected calls, from all to the used ones; empty if no calls were lost.

    Void rows are skipped. An incomplete run of several frameworks has no table, since their expected calls would belong
    to different queries.
    """
    summaries = [summary for summary in report.frameworks if not summary.integrity.void]
    found = [summary.attribution for summary in summaries]
    counts = [one.counts for one in found if one is not None]
    lost = [stage for stage in STAGES if any(one.get(stage) for one in counts)]
    if not lost or len(counts) < len(found) or (report.incomplete and len(found) > 1):
        return []
    columns = ("", "expected calls", *map(_title, lost), "used")
    rows = [TableRow(summary.framework, _cells(one, lost)) for summary, one in zip(summaries, counts, strict=True)]
    return [Table(TITLE, columns, rows, list(_examples(summaries, lost)), legend=list(_legend(lost)))]


def _title(stage: str) -> str:
    return "tool failed" if stage == "api failed" else stage


def _cells(counts: Mapping[str, int], lost: Sequence[str]) -> tuple[str, ...]:
    """Return the number of expected calls, of calls lost at each stage, and of used calls."""
    numbers = [*(counts[stage] for stage in lost), counts[USED]]
    if not sum(numbers):
        return (UNKNOWN,) * (len(lost) + 2)
    shares = percentages(numbers)
    return f"{sum(numbers):,}", *(f"{number:,} {share}%" for number, share in zip(numbers, shares, strict=True))


def _legend(lost: Sequence[str]) -> Iterator[str]:
    yield (
        "Each expected call is counted at the first stage that it did not pass, over the trials that were measured; "
        "results[i].gold_calls of the document has each with its reason."
    )
    yield from (f"{_title(stage)}: {LEGEND[stage]}." for stage in lost)


def _examples(summaries: Sequence[Summary], lost: Sequence[str]) -> Iterator[str]:
    """Yield the stage with the most lost calls of each framework, and its first call."""
    for summary in summaries:
        counts = summary.attribution.counts if summary.attribution else {}
        most = max(lost, key=lambda stage: counts.get(stage, 0))
        example = _first(summary, most)
        if counts.get(most) and example:
            yield f"{summary.framework}: {_title(most)}, first {example}"


def _first(summary: Summary, stage: str) -> str:
    first = summary.attribution.first.get(stage) if summary.attribution else None
    if first is None:
        return ""
    query_id, call = first
    return f"in task {query_id}: {': '.join(filter(None, call.gold.api.pair))} ({call.reason})."


def percentages(counts: Sequence[int]) -> list[int]:
    """Return counts as whole percentages that add up to 100 (the largest remainder method).

    All are 0 if the sum is 0.
    """
    total = sum(counts)
    if not total:
        return [0] * len(counts)
    whole = [100 * count // total for count in counts]
    remainders = sorted(range(len(counts)), key=lambda place: (-(100 * counts[place] % total), place))
    for place in remainders[: 100 - sum(whole)]:
        whole[place] += 1
    return whole


Compared = tuple[str, FrameworkComparison]
"""A framework with one of its comparisons."""

COLUMNS = ("", "difference", "changed", "p", "verdict")


def comparison_tables(report: Report) -> list[Table]:
    """Return a table of frameworks against each baseline, and one of native profiles against controlled ones."""
    found = [(summary.framework, one) for summary in report.frameworks for one in summary.comparisons]
    groups: dict[tuple[str, str], list[Compared]] = {}
    for item in sorted(found, key=lambda item: item[1].kind == "profile"):
        kind = item[1].kind
        groups.setdefault((kind, item[1].against if kind == "reference" else ""), []).append(item)
    tables = [_table(kind, own) for (kind, _), own in groups.items() if any(one.scores for _, one in own)]
    if tables:
        tables[0] = replace(tables[0], notes=[*tables[0].notes, *rank_notes(_ranks(report))])
    return [replace(table, legend=_untold(table, tables[:place])) for place, table in enumerate(tables)]


def _ranks(report: Report) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the possible ranks of each framework for each score."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for summary in report.frameworks:
        for score, rank in (summary.ranks or {}).items():
            found.setdefault(score, {})[summary.framework] = rank
    return found


def _untold(table: Table, earlier: Sequence[Table]) -> list[str]:
    """Return the legend of a table without the notes of earlier tables."""
    told = {note for other in earlier for note in other.legend}
    return [note for note in table.legend if note not in told]


def _table(kind: str, found: Sequence[Compared]) -> Table:
    title = f"compared with {found[0][1].against}" if kind == "reference" else "defaults compared with conductor only"
    scores = dict.fromkeys(score for _, one in found for score in one.scores)
    rows = [row for score in scores for row in _rows(kind, score, found)]
    table = Table(title, COLUMNS, rows, legend=list(_comparison_legend(kind, found)))
    # A verdict could not be read in a different block than its difference.
    return replace(table, narrow=table.without("changed"))


def _rows(kind: str, score: str, found: Sequence[Compared]) -> Iterator[TableRow]:
    """Yield a row with the score's name, then a row for each framework."""
    yield TableRow(score_title(score), ("",) * (len(COLUMNS) - 1))
    for framework, comparison in found:
        finding = comparison.scores.get(score)
        if finding is not None:
            changed = f"{len(finding.changed_queries)} of {finding.n}"
            yield TableRow(f"  {_label(kind, framework)}", (difference_text(finding), changed, *finding_cells(finding)))


def _label(kind: str, framework: str) -> str:
    return framework if kind == "reference" else framework.replace(f"{PROFILE}{NATIVE}", "", 1)


def _comparison_legend(kind: str, found: Sequence[Compared]) -> Iterator[str]:
    findings = [finding for _, one in found for finding in one.scores.values()]
    yield (
        "difference: the mean over the tasks that both have, with its 95 % interval; a failed trial is 0. "
        "changed: tasks on which the two differ."
    )
    if kind == "profile":
        yield "A difference is what the framework's own defaults bring (+) or cost (-)."
    yield from verdict_notes(findings)
