"""The results of contests, as a table and as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.scoring import judge_note
from trialbed.views import UNKNOWN, Table, number

GROUNDS = {
    "status": "by the solved status",
    "missing": "by a missing answer",
    "identical": "by equal answers",
    "judge": "by the judge",
}


def preference_table(documents: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row per pair."""
    columns = ("candidate against baseline", "wins", "losses", "ties", "undecided", "win rate", "95 % interval", "p")
    notes = [
        "The win rate is the candidate's wins over wins, losses and ties; undecided contests are left out. "
        "The solved status decides first, a missing answer loses, and the judge sees each pair in both orders."
    ]
    rows = [_row(document) for document in documents]
    return Table.of("preference", columns, rows, [*notes, *_notes(documents), *_judges(documents)])


def undecided_lines(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the pairs with contests that the judge did not decide."""
    return [
        f"{_name(document)}: {document['undecided']} of {document['contests']} contests are undecided, because the "
        "judge failed; the same command asks it again"
        for document in documents
        if document["undecided"]
    ]


def preference_records(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of each pair."""
    names = ("baseline", "candidate", "contests", "wins", "losses", "ties", "undecided", "not_measured", "p")
    return [
        {name: document[name] for name in names} | {"win_rate": (document["win_rate"] or {}).get("value")}
        for document in documents
    ]


def _row(document: Mapping[str, Any]) -> tuple[str, ...]:
    rate = document["win_rate"]
    counts = [str(document[name]) for name in ("wins", "losses", "ties", "undecided")]
    between = f"{number(rate['low'])}-{number(rate['high'])}" if rate else UNKNOWN
    return (_name(document), *counts, number(rate["value"]) if rate else UNKNOWN, between, _p(document["p"]))


def _name(document: Mapping[str, Any]) -> str:
    return f"{document['candidate']} against {document['baseline']}"


def _p(value: float | None) -> str:
    return "<0.001" if value is not None and value < 0.001 else number(value)


def _judges(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write how far the judges can be trusted, each once."""
    judges = (document["judge"] for document in documents)
    return list(filter(None, dict.fromkeys(judge_note(str(judge.get("driver")), judge) for judge in judges)))


def _notes(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    for document in documents:
        parts = [f"{document['by'][ground]} {words}" for ground, words in GROUNDS.items() if ground in document["by"]]
        if document["order_consistency"] is not None:
            parts.append(f"{100 * document['order_consistency']:.0f} % of votes the same in both orders")
        if document["undecided"]:
            first = next(found["reason"] for found in document["results"] if found["winner"] is None)
            parts.append(f"{document['undecided']} undecided, because the judge failed: {first}")
        if document["not_measured"]:
            parts.append(f"{document['not_measured']} not measured for both")
        notes.append(f"{_name(document)}: {'; '.join(parts)}.")
    return notes
