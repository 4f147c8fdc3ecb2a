"""All faults by name, with their settings and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from trialbed.wire import ModelRequest
from trialbed.wire.dialects import CHAT
from trialbed_scripted._scripts import ModelTurn, ReceivedRequest, Response, fail
from trialbed_scripted.faults import _atlas
from trialbed_scripted.faults import _changes as changes
from trialbed_scripted.faults._edits import EDITS, ROWS, Edit, rewrite

NONE = "none"

Settings = Mapping[str, Any]


class FaultKind(NamedTuple):
    """A fault with its effect, its settings and their defaults, and the stages of an answer that it changes.

    ``name:value`` sets the first setting. A missing stage does nothing.

    Attributes:
        ignores: the setting with the request parameters that the model ignores.
        refuses: the setting with the request parameters that the model rejects.
        turn: changes the turn of the model.
        edits: edits of the answer's format, by dialect. If there are any, other dialects cannot have the fault.
        response: changes the bytes on the wire.
    """

    text: str
    settings: Settings = MappingProxyType({})
    ignores: str = ""
    refuses: str = ""
    turn: changes.TurnChange | None = None
    edits: Mapping[str, Edit] = MappingProxyType({})
    response: changes.ResponseChange | None = None


def _kind_of(name: str, row: Mapping[str, Any]) -> FaultKind:
    return FaultKind(
        row["says"],
        MappingProxyType(row.get("settings", {})),
        row.get("ignores", ""),
        row.get("refuses", ""),
        turn=getattr(changes, row["turn"]) if "turn" in row else None,
        edits={dialect: edits[name] for dialect, edits in EDITS.items() if name in edits},
        response=getattr(changes, row["response"]) if "response" in row else None,
    )


FAULTS: Mapping[str, FaultKind] = MappingProxyType({name: _kind_of(name, row) for name, row in ROWS.items()})
"""The faults in ``faults.toml``. The head of the file explains its rows."""


@cache
def find_kind(name: str) -> FaultKind:
    """Return a fault of ``FAULTS`` or the atlas.

    Raises:
        KeyError: there is no such fault.
    """
    if name in FAULTS:
        return FAULTS[name]
    row = _atlas.atlas()[name]
    return FaultKind(
        row["says"],
        turn=partial(_atlas.change_turn, row),
        edits={CHAT: partial(_atlas.edit_parts, row)},
        response=partial(_atlas.change_response, row),
    )


@dataclass(frozen=True)
class Fault:
    """A fault with its settings, such as ``status`` and ``retry_after`` of ``status``."""

    name: str = NONE
    settings: Settings = field(default_factory=dict)

    @property
    def kind(self) -> FaultKind:
        return find_kind(self.name)

    def shorten(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the request without the parameters that the model ignores."""
        ignored = self._parameters(self.kind.ignores)
        return {key: value for key, value in document.items() if key not in ignored} if ignored else document

    def refuse(self, request: ReceivedRequest) -> Response | None:
        """Return an error response if the request has a parameter that the model rejects."""
        parameters = self._parameters(self.kind.refuses)
        refused = next((name for name in parameters if request.document.get(name) is not None), None)
        if refused is None:
            return None
        message = f"the parameter {refused!r} is not supported"
        return fail(400, message, "invalid_request_error", spoken=request.spoken)

    def change_turn(self, turn: ModelTurn, request: ModelRequest) -> ModelTurn:
        return turn if self.kind.turn is None else self.kind.turn(turn, request, self.settings)

    def edit(self, response: Response, dialect: str) -> Response:
        """Apply this fault to the format of an answer.

        Raises:
            LookupError: answers in this dialect cannot have it.
        """
        edits = self.kind.edits
        if edits and dialect not in edits:
            raise LookupError(f"{dialect} has no fault {self.name!r}, but {', '.join(edits)}")
        return rewrite(response, edits[dialect]) if edits else response

    def change_response(self, response: Response, request: ReceivedRequest) -> Response:
        return response if self.kind.response is None else self.kind.response(response, request, self.settings)

    def _parameters(self, setting: str) -> list[str]:
        return [name.strip() for name in str(self.settings[setting]).split("+")] if setting else []
