"""What a results file already holds."""

from __future__ import annotations

from collections.abc import Collection

from trialbed.errors import UsageError
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.results._journal import Journal, Key
from trialbed_verify.verification.results._tally import Tally
from trialbed_verify.verification.targets import Target


def kept_answers(journal: Journal, target: Target, cases: TestSet) -> dict[Key, bool]:
    """Every key of the file -> whether its last row is an answer that counts.

    Raises:
        DataError: a line is no result row.
        UsageError: rows were made under another configuration or for another test set.
    """
    config = target.digest()
    numbers = {cases.index(number): number for number in range(len(cases))}
    kept: dict[Key, bool] = {}
    for key, row in journal.rows():
        number = numbers.get(key[0])
        _same(journal, key, "configuration", row.get("config"), config)
        _same(journal, key, "request", row.get("case"), cases.identity(number) if number is not None else None)
        kept[key] = row["status"] == "success"
    return kept


def tally_of(journal: Journal, keys: Collection[Key]) -> Tally:
    """The tally of the last rows of these keys."""
    tally = Tally()
    for key, row in journal.last_rows():
        if key in keys:
            tally.add(row)
    return tally


def _same(journal: Journal, key: Key, what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise UsageError(
            f"{journal.path}: the row of line {key[0]} was made for another {what} (model, base URL, extra body, "
            "settings or test set changed); name another --output, or discard it with --fresh"
        )
