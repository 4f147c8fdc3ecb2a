"""Reads a model's preference between two answers."""

from __future__ import annotations

from typing import get_args

from trialbed.contracts import Preference
from trialbed.contracts import Winner as WinnerName
from trialbed.model_access import Unreadable, read_object

WINNER = "better"

PREFERENCE_SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "One or two sentences."},
        WINNER: {"type": "string", "enum": list(get_args(WinnerName))},
    },
    "required": ["reason", WINNER],
    "additionalProperties": False,
}


def read_preference(reply: str) -> Preference:
    """Return the preference in a reply: one JSON object.

    Raises:
        Unreadable: the verdict is missing, or it names neither answer nor a tie.
    """
    value = read_object(reply, WINNER).value
    winner = str(value[WINNER]).strip().casefold()
    if winner not in get_args(WinnerName):
        raise Unreadable(f"{WINNER} is {value[WINNER]!r}, not one of {', '.join(get_args(WinnerName))}")
    reason = value.get("reason")
    return Preference.model_validate({"winner": winner, "reason": reason if isinstance(reason, str) else ""})
