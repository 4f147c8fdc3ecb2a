"""A vendor's history as tables of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialbed.views import UNKNOWN, Table, number
from trialbed_verify.history import FollowedPoint, VendorHistory


def history_tables(history: VendorHistory) -> list[Table]:
    """One row per verification; the notes say what changed, and since when."""
    columns = ("verification", "cases", "trials", "success", "schema", "p", "evidence", "most unusual")
    moments = _moments(history.points)
    title = f"{history.vendor} with {history.model}: {_verdict(history, moments)}"
    rows = [_row(point, moments) for point in history.points]
    return [Table.of(title, columns, rows, _notes(history, moments))]


def _moments(points: Sequence[FollowedPoint]) -> dict[str, str]:
    """The moment of each point as it is shown: to the minute, or more exactly where that would be that of several."""
    whole = [one.point.at for one in points]
    for length in (16, 19):
        if len({at[:length] for at in whole}) == len(set(whole)):
            return {at: at[:length].replace("T", " ") for at in whole}
    return {at: at.replace("T", " ") for at in whole}


def _verdict(history: VendorHistory, moments: Mapping[str, str]) -> str:
    tested = sum(one.assessment.p is not None for one in history.points)
    if history.changes:
        return f"changed since {moments[history.changes[-1].since]}"
    return "no change was found" if tested else "nothing to compare yet"


def _row(one: FollowedPoint, moments: Mapping[str, str]) -> tuple[str, ...]:
    point, found = one.point, one.assessment
    return (
        moments[point.at],
        str(point.cases),
        str(point.trials),
        number(point.success_rate),
        number(point.schema_accuracy),
        number(found.p),
        number(found.evidence, 2),
        found.subject or UNKNOWN,
    )


def _notes(history: VendorHistory, moments: Mapping[str, str]) -> Iterator[str]:
    for change in history.changes:
        yield (
            f"Its answers changed, most likely with the verification of {moments[change.since]}, in "
            f"{', '.join(change.subjects)}; found on {moments[change.found]}."
        )
    yield (
        "p: how unusual the answers are among all of the same requests so far. evidence: for a change; one is reported "
        f"at {history.false_alarms_every}, which an unchanged vendor reaches at most once in that many "
        "verifications, on average."
    )
    for one in history.points:
        if one.left_out:
            yield f"{moments[one.point.at]} was left out: {one.left_out}."
