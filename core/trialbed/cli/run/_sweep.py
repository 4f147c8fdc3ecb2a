"""A run at several numbers of tools: score against number, and who lost what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from trialbed.views import Table

LOSERS = ("selector", "model", "framework", "rig")
"""Who may have lost a gold call; the rig is the virtual API and Trialbed itself."""

STAGES = {
    "not offered": "selector",
    "not called": "model",
    "wrong arguments": "model",
    "not used": "model",
    "not made": "framework",
    "api failed": "rig",
}
"""Stage -> who lost a call at it."""

FAILURES = {"model": "model", "limit": "model"} | dict.fromkeys(
    ("endpoint", "server", "tool", "judge", "scorer"), "rig"
)
"""Kind of failure -> who lost the calls of the trial; the framework at all others."""


def check_sweep(given: Mapping[str, Any]) -> None:
    """Refuse options that are about one run.

    Args:
        given: options and their values.

    Raises:
        click.UsageError: one of them is given.
    """
    names = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if names:
        raise click.UsageError(f"{names[0]} is about one run; give --max-tools one number with it")


def losers(document: Mapping[str, Any]) -> Counter[str]:
    """How many gold calls each lost in a document's trials, and how many there were, as ``calls``."""
    found: Counter[str] = Counter()
    for entry in document["results"]:
        for call in entry.get("gold_calls", ()):
            found["calls"] += 1
            if call["lost"] is not None:
                found[_loser(call, entry)] += 1
    return found


def _loser(call: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    from trialbed.report.attribution import BY_FRAMEWORK

    if call["reason"].startswith(BY_FRAMEWORK):
        return "framework"
    if call["lost"] == "trial failed":
        return FAILURES.get((entry.get("error") or {}).get("kind", ""), "framework")
    return STAGES[call["lost"]]


def sweep_table(documents: Sequence[Mapping[str, Any]]) -> Table:
    """Score against the number of tools, framework by framework."""
    from trialbed.views import Table

    columns = ["framework", "tools", "sopr_score", "api_call_score", "gold_offered", *LOSERS]
    notes = (
        "tools: the most that were offered. selector to rig: gold calls that each lost, of all. "
        "selector: not offered; model: not called, with wrong arguments or without use of the result; "
        "framework: offered wrongly, not made, failed, or ended at a call that the model could have mended; "
        "rig: failed at the virtual API or in Trialbed.",
        *_incomplete(documents),
    )
    return Table.of("score against number of tools", columns, _rows(documents), notes)


def _rows(documents: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    from trialbed.views import number

    names = list(dict.fromkeys(document["metadata"]["agent_name"] for document in documents))
    order = sorted(documents, key=lambda item: (names.index(item["metadata"]["agent_name"]), _tools(item)))
    for document in order:
        summary, lost = document["summary"], losers(document)
        scores = [
            number(summary.get(f"average_{name}"), 3) for name in ("sopr_score", "api_call_score", "gold_offered")
        ]
        shares = [f"{lost[name]} {lost[name] / lost['calls']:.0%}" if lost["calls"] else "-" for name in LOSERS]
        yield document["metadata"]["agent_name"], f"{_tools(document):,}", *scores, *shares


def _tools(document: Mapping[str, Any]) -> int:
    return int(document["metadata"]["max_tools"])


def _incomplete(documents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for document in documents:
        if document["metadata"]["status"] == "incomplete":
            about = document["metadata"]
            yield f"INCOMPLETE: trials of {about['agent_name']} with {_tools(document)} tools were not measured."
