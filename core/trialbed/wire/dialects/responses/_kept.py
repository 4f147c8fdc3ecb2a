"""Responses that were given, for requests that follow them or ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.wire._exchange import Document
from trialbed.wire.dialects.responses._requests import ResponsesRequest

MOST_BYTES = 64 * 2**20
"""Bytes of requests and responses that are kept for a trial; what goes beyond drops the oldest."""


@dataclass(frozen=True)
class _Kept:
    follows: str
    items: Sequence[Any]
    document: Document
    size: int


class KeptResponses:
    """The responses of one trial, gone with it."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._size = 0

    def follow(self, request: ResponsesRequest) -> bool:
        """Give a request the conversation that it goes on with; return False if that is not known."""
        if not request.follows:
            return True
        turns: list[Sequence[Any]] = []
        left = request.follows
        while left:
            kept = self._kept.get(left)
            if kept is None or len(turns) > len(self._kept):
                return False
            turns.append([*kept.items, *(kept.document.get("output") or ())])
            left = kept.follows
        request.earlier = [item for turn in reversed(turns) for item in turn]
        return True

    def keep(self, request: ResponsesRequest, document: Document | None, size: int) -> None:
        """Keep a response, if its request does not say otherwise.

        Args:
            size: bytes of the request and the response.
        """
        identity = (document or {}).get("id")
        if document is None or not isinstance(identity, str) or not request.keeps:
            return
        self.delete(identity)
        self._kept[identity] = _Kept(request.follows, request.items, document, size)
        self._size += size
        while self._size > MOST_BYTES and self._kept:
            self.delete(next(iter(self._kept)))

    def document(self, identity: str) -> Document | None:
        """Return a response; None if there is none of this id."""
        kept = self._kept.get(identity)
        return None if kept is None else kept.document

    def items(self, identity: str) -> list[Any] | None:
        """Return the items that the request of a response sent, the last first; None if there is none of this id."""
        kept = self._kept.get(identity)
        return None if kept is None else list(reversed(kept.items))

    def delete(self, identity: str) -> bool:
        """Forget a response; return whether there was one."""
        kept = self._kept.pop(identity, None)
        self._size -= 0 if kept is None else kept.size
        return kept is not None
