"""Responses that were given, for requests that follow them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trialbed.wire._exchange import ModelRequest
from trialbed.wire.dialects._fields import SHOWN, list_of
from trialbed.wire.dialects.responses._requests import ResponsesRequest

NOT_KEPT = "previous_response_not_found"
"""The error code for a request that follows a response which is not kept."""

MOST_BYTES = 64 * 2**20
"""Bytes of the conversations that are kept for a trial; what goes beyond drops the oldest."""


class _KeptResponse(NamedTuple):
    """A response with the conversation before it.

    Attributes:
        items: of the whole conversation.
        size: bytes of its requests and responses.
        recorded: whether the response belongs to an earlier request.
    """

    items: Sequence[Any]
    size: int
    recorded: bool


class KeptResponses:
    """The responses of one trial, gone with it."""

    def __init__(self) -> None:
        self._kept: dict[str, _KeptResponse] = {}

    def follow(self, request: ResponsesRequest) -> bool:
        """Give a request the conversation that it goes on with; return False if that is not known."""
        kept = self._kept.get(request.follows)
        request.earlier = kept.items if kept is not None else ()
        return kept is not None or not request.follows

    def follows_recorded(self, request: ModelRequest) -> bool:
        """Return whether a request follows a recorded response, which its endpoint may never have given."""
        kept = self._kept.get(request.follows) if isinstance(request, ResponsesRequest) else None
        return kept is not None and kept.recorded

    def keep(
        self, request: ModelRequest, document: Mapping[str, Any] | None, size: int, *, recorded: bool = False
    ) -> None:
        """Keep the answer to a request if its dialect has stored responses and the request does not opt out.

        Args:
            request: with the conversation that ``follow`` gave it.
            document: the answer; None if there is no answer or only a part of it is known.
            size: bytes of the request and the answer.
            recorded: whether the answer belongs to an earlier request.
        """
        identity = (document or {}).get("id")
        if document is None or not isinstance(request, ResponsesRequest) or not request.keeps:
            return
        if isinstance(identity, str):
            items = [*request.earlier, *request.items, *list_of(document.get("output"))]
            before = self._kept.get(request.follows)
            self._kept.pop(identity, None)
            self._kept[identity] = _KeptResponse(items, size + (before.size if before else 0), recorded)
            while self._kept and sum(kept.size for kept in self._kept.values()) > MOST_BYTES:
                del self._kept[next(iter(self._kept))]

    def refusal(self, request: ModelRequest, *, strict: bool = False) -> tuple[str, str]:
        """Give a request its conversation; return why it is not answered, and the error's code, both empty if it is.

        Args:
            strict: whether to refuse a well-formed request that vendors refuse.
        """
        if request.problem:
            return request.problem, request.problem_code
        if isinstance(request, ResponsesRequest) and not self.follow(request):
            return f"Previous response with id '{request.follows[:SHOWN]}' not found.", NOT_KEPT
        return request.conflict if strict else "", ""
