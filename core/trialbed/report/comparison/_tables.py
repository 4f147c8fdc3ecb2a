"""A comparison of runs as tables and as records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.report.comparison._ranks import rank_notes
from trialbed.report.comparison._recovery import recovery_table
from trialbed.report.comparison._sides import setting_label
from trialbed.scoring import JUDGED, judge_note
from trialbed.views import UNKNOWN, Table, compact, counts, number

Document = Mapping[str, Any]

MOST_QUERIES = 20
"""Queries that a note lists."""


def comparison_tables(documents: Sequence[Document]) -> list[Table]:
    """A table for each candidate: both means of each score, and their paired difference with its interval.

    A candidate that is a run with faults has one more, of its recovery.
    """
    tables = [_table(document) for document in documents]
    ranks = {
        score: {name: (low, high) for name, (low, high) in found.items()}
        for score, found in documents[-1].get("ranks", {}).items()
    }
    recoveries = [table for table in map(recovery_table, documents) if table is not None]
    return [*tables[:-1], replace(tables[-1], notes=[*tables[-1].notes, *rank_notes(ranks)]), *recoveries]


def comparison_records(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """One record per candidate and score."""
    return [
        {
            "baseline": document["baseline"]["name"],
            "candidate": document["candidate"]["name"],
            "score": name,
            "n": found["n"],
            "baseline_mean": found["baseline"],
            "candidate_mean": found["candidate"],
            "difference": found["difference"]["value"],
            "low": found["difference"]["low"],
            "high": found["difference"]["high"],
            "p_adjusted": finding.get("p_adjusted"),
            "verdict": finding.get("verdict"),
        }
        for document in documents
        for name, found in document["scores"].items()
        for finding in (document["findings"].get(name, {}),)
    ]


def _table(document: Document) -> Table:
    baseline, candidate = document["baseline"], document["candidate"]
    common = document["queries"]["common"]
    title = f"{candidate['name']} compared with {baseline['name']}: {common} common queries of {baseline['test_set']}"
    columns = ("", baseline["name"], candidate["name"], "difference", "queries", "p", "verdict")
    findings = document["findings"]
    rows = [
        (_label(name), *_cells(found), *finding_cells(findings.get(name))) for name, found in document["scores"].items()
    ]
    table = Table.of(title, columns, rows, _notes(document), _legend(document))
    # The title has both names; and a verdict in another block than its difference could not be read.
    short = replace(table, columns=("", "baseline", "candidate", *columns[3:]))
    fewer = replace(short.without("queries"), narrow=short.without("queries", "baseline", "candidate"))
    return replace(table, narrow=replace(short, narrow=fewer))


def finding_cells(finding: Document | None) -> tuple[str, str]:
    """The adjusted p-value and the verdict of a finding; empty for scores without one."""
    if finding is None:
        return "", ""
    if finding["verdict"] == "identical":
        return "", "identical"
    p = finding["p_adjusted"]
    needed = f" ({finding['queries_needed']:,})" if finding["queries_needed"] else ""
    return "<0.001" if p < 0.001 else f"{p:.3f}", f"{finding['verdict']}{needed}"


def verdict_notes(findings: Sequence[Document]) -> Iterator[str]:
    """How the verdicts that are among these findings are to be read."""
    told = {finding["verdict"] for finding in findings}
    tested = sum(1 for finding in findings if finding["verdict"] != "identical")
    if tested:
        yield (
            f"p: McNemar's exact or a paired permutation test, adjusted by Holm's method over {tested} "
            f"{'comparison' if tested == 1 else 'comparisons'}; better and worse are below 0.05."
        )
    if "equivalent" in told:
        yield f"equivalent: shown to differ by less than {findings[0]['margin']:g}, the margin."
    if "identical" in told:
        yield "identical: the same value on every query."
    if "too few" in told:
        yield "too few: too few queries to tell; in brackets, about how many would be enough."


def changed(finding: Document) -> str:
    """The queries of a finding that changed, in words; empty where none did."""
    found = {kind: finding[kind] for kind in ("worse", "better") if finding[kind]}
    return "; ".join(f"{kind} on {_listed(queries)}" for kind, queries in found.items())


def _listed(queries: Sequence[int | str]) -> str:
    ordered = sorted(queries, key=lambda query: (isinstance(query, str), query))
    shown = ", ".join(map(str, ordered[:MOST_QUERIES]))
    more = f" and {len(queries) - MOST_QUERIES:,} more (--json has all)" if len(queries) > MOST_QUERIES else ""
    return f"{'query' if len(queries) == 1 else 'queries'} {shown}{more}"


def _label(name: str) -> str:
    return f"{name}, s" if name.endswith("_time") else name


def _cells(found: Document) -> tuple[str, str, str, str]:
    shown = number if found["bounded"] else compact
    return shown(found["baseline"]), shown(found["candidate"]), _signed(found), str(found["n"])


def signed(finding: Document) -> str:
    """The difference of a finding with its interval, of two digits."""
    value, low, high = (finding[key] for key in ("difference", "low", "high"))
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def _signed(found: Document) -> str:
    difference = found["difference"]
    if difference["value"] is None:
        return UNKNOWN
    value, low, high = (_with_sign(difference[key], bounded=found["bounded"]) for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _with_sign(value: float | None, *, bounded: bool) -> str:
    text = number(value) if bounded else compact(value)
    return f"+{text}" if value is not None and value > 0 else text


def _legend(document: Document) -> Iterator[str]:
    yield (
        f"difference is {document['candidate']['name']} less {document['baseline']['name']}, query by query, with its "
        "95% interval over queries that both have. A failed trial is 0 in scores of quality; other figures are of "
        "answered trials."
    )
    yield from verdict_notes(list(document["findings"].values()))


def _notes(document: Document) -> Iterator[str]:
    candidate, baseline, queries = document["candidate"], document["baseline"], document["queries"]
    if JUDGED in document["scores"]:
        notes = (judge_note(side["evaluator_model"], side.get("judge")) for side in (baseline, candidate))
        yield from dict.fromkeys(filter(None, notes))
    yield from (f"{name}: {text}." for name, finding in document["findings"].items() if (text := changed(finding)))
    for side, key in ((baseline, "only_baseline"), (candidate, "only_candidate")):
        if queries[key]:
            yield f"{queries[key]} queries are left out, as only {side['name']} has them."
    for key, (ours, theirs) in document["settings"].items():
        yield f"{setting_label(key)}: {json.dumps(ours)} and {json.dumps(theirs)}, which are not the same."
    for side in (baseline, candidate):
        if side["failures"]:
            yield f"{side['name']}: trials that failed: {counts(side['failures'])}."
    yield from (f"{note[0].upper()}{note[1:]}." for note in document["notes"])
