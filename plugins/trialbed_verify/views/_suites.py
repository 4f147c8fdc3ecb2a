"""The findings of suites as tables of text, with vendors as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.views import UNKNOWN, Table, estimate

Summary = Mapping[str, Any]

ALPHA = 0.05

MOST_ROWS = 40
"""Values of one property that are shown; the summary has them all."""


def suite_tables(summaries: Sequence[Summary]) -> Iterator[Table]:
    """A table for each suite that one of these summaries has."""
    names = dict.fromkeys(name for summary in summaries for name in summary.get("suites") or ())
    for name in names:
        yield _table(name, summaries)


def suite_records(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """One record per model, vendor, suite and value of a property; the property is empty for the whole suite."""
    return [
        {
            "model": summary["model"],
            "vendor": summary["vendor"],
            "suite": name,
            "property": title,
            "value": value,
            **score,
        }
        for summary in summaries
        for name, found in (summary.get("suites") or {}).items()
        for title, value, score in _scores(found)
    ]


def _scores(found: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    if found["score"]:
        yield "", "", found["score"]
    for title, values in found["by"].items():
        yield from ((title, value, score) for value, score in values.items() if score)


def _table(name: str, summaries: Sequence[Summary]) -> Table:
    found = [(summary.get("suites") or {}).get(name) for summary in summaries]
    columns = ["", *(f"{summary['vendor']}{'*' * summary['is_baseline']}" for summary in summaries)]
    rows = [("right", *(_score(one and one["score"]) for one in found))]
    for title in dict.fromkeys(title for one in found if one for title in one["by"]):
        values = dict.fromkeys(value for one in found if one for value in one["by"].get(title, ()))
        if len(values) <= MOST_ROWS:
            for value in values:
                cells = (_score(one["by"].get(title, {}).get(value)) if one else UNKNOWN for one in found)
                rows.append((f"{title}: {value}", *cells))
    rows += _parameters(found)
    return Table.of(f"Suite {name}", columns, rows, _notes(summaries, found))


def _lines(found: Mapping[str, Any], name: str) -> str:
    """The lines of the first answers that miss an expectation, each once."""
    return ", ".join(dict.fromkeys(str(example["line"]) for example in found["examples"].get(name, ())))


def _score(score: Mapping[str, Any] | None) -> str:
    return UNKNOWN if not score else estimate(score, 2, with_n=True)


def _parameters(found: Sequence[Mapping[str, Any] | None]) -> Iterator[tuple[str, ...]]:
    for parameter in dict.fromkeys(parameter for one in found if one for parameter in one["parameters"]):
        cells = (one["parameters"].get(parameter, {}).get("finding", UNKNOWN) if one else UNKNOWN for one in found)
        yield f"{parameter} is", *cells


def _notes(summaries: Sequence[Summary], found: Sequence[Mapping[str, Any] | None]) -> Iterator[str]:
    yield "The share of cases that are right, with its 95 % Wilson interval; the trials of a case count as one."
    for summary, one in zip(summaries, found, strict=True):
        if one and one["misses"]:
            missed = (f"{name} {count} times (lines {_lines(one, name)})" for name, count in one["misses"].items())
            yield f"{summary['vendor']} misses {', '.join(missed)}."
        if beyond := one and one.get("beyond_fresh"):
            yield f"{summary['vendor']}: {_beyond(beyond)}"


def _beyond(found: Mapping[str, Any]) -> str:
    figure = f"{estimate(found, 3)} of the {found['n']} cases, p {found['p']:.2g}"
    if found["low"] > 0 and found["p"] <= ALPHA:
        return f"right more often than with other names and values, by {figure}: as if it knew the suite by heart."
    return f"right as often with other names and values, as far as is shown; the difference is {figure}."
