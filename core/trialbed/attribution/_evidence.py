"""Whether the result of a call was used."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from trialbed.evidence import evidence_values, mentions
from trialbed.records import Query
from trialbed.results import AskedCall

MAX_VALUES = 1000
"""Values of a response that are looked for; the first ones."""


def is_used(call: AskedCall, query: Query, answer: str, calls: Iterable[AskedCall]) -> bool | None:
    """Whether something of a call's response is in the answer, or in the arguments of a later call.

    What the query or the call's own arguments already say does not count.

    Args:
        calls: those of the trial; the later ones count.

    Returns:
        None where the response has no values to look for.
    """
    given = " ".join([query.text, *evidence_values(call.arguments)])
    later = (other for other in calls if other.started > call.started)
    used = " ".join([answer, *(value for other in later for value in evidence_values(other.arguments))])
    found: bool | None = None
    for value in islice(evidence_values(call.response), MAX_VALUES):
        if not mentions(given, (value,)):
            if mentions(used, (value,)):
                return True
            found = False
    return found
