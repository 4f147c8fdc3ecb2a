"""Responses that were given, for requests that follow them or ask for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.wire._exchange import Document, ModelRequest
from trialbed.wire.dialects._fields import SHOWN
from trialbed.wire.dialects.responses._requests import ResponsesRequest

FOLDER = "responses/"
"""The beginning of the paths of responses that are kept."""

ITEMS = "input_items"

NOT_KEPT = "previous_response_not_found"
"""The code of the error with which a request is refused that follows a response which is not kept."""

MOST_BYTES = 64 * 2**20
"""Bytes of requests and responses that are kept for a trial; what goes beyond drops the oldest."""


@dataclass(frozen=True)
class _KeptExchange:
    follows: str
    items: Sequence[Any]
    document: Document
    size: int
    recorded: bool


class KeptResponses:
    """The responses of one trial, gone with it."""

    def __init__(self) -> None:
        self._kept: dict[str, _KeptExchange] = {}

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

    def follows_recorded(self, request: ModelRequest) -> bool:
        """Return whether a request follows a recorded response, which its endpoint may never have given."""
        kept = self._kept.get(request.follows) if isinstance(request, ResponsesRequest) else None
        return kept is not None and kept.recorded

    def keep(
        self, request: ModelRequest, document: Mapping[str, Any] | None, size: int, *, recorded: bool = False
    ) -> None:
        """Keep the answer to a request, if its dialect has such, and it does not say otherwise.

        Args:
            document: the answer; None where there is none, or not all of it is known.
            size: bytes of the request and the answer.
            recorded: whether the answer is one of an earlier request's.
        """
        identity = (document or {}).get("id")
        if document is None or not isinstance(request, ResponsesRequest) or not request.keeps:
            return
        if isinstance(identity, str):
            self._kept.pop(identity, None)
            self._kept[identity] = _KeptExchange(request.follows, request.items, dict(document), size, recorded)
            while self._kept and sum(kept.size for kept in self._kept.values()) > MOST_BYTES:
                del self._kept[next(iter(self._kept))]

    def refusal(self, request: ModelRequest, *, strict: bool = False) -> tuple[str, str]:
        """Give a request its conversation; return why it is not answered, and the error's code, both empty if it is.

        Args:
            strict: whether it is refused where vendors refuse it though it has the right form.
        """
        if request.problem:
            return request.problem, request.problem_code
        if isinstance(request, ResponsesRequest) and not self.follow(request):
            return f"Previous response with id '{request.follows[:SHOWN]}' not found.", NOT_KEPT
        return request.conflict if strict else "", ""

    def serve(self, method: str, path: str) -> Document | None:
        """Return the answer to a request for a response, or for its end; None if there is none of this id."""
        identity, rest = kept_path(path)
        kept = self._kept.get(identity)
        if kept is None:
            return None
        if rest:  # the items that the request of the response sent, the last first
            items = list(reversed(kept.items))
            return {"object": "list", "data": items, "has_more": False} if (method, rest) == ("GET", ITEMS) else None
        if method == "DELETE":
            del self._kept[identity]
            return {"id": identity, "object": "response", "deleted": True}
        return kept.document if method == "GET" else None


def kept_path(path: str) -> tuple[str, str]:
    """Return the id in the path of a response, and what follows it."""
    identity, _, rest = path.removeprefix(FOLDER).partition("/")
    return identity, rest


def is_kept(method: str, path: str) -> bool:
    """Return whether a request asks for a response that may be kept, or for its end."""
    identity, rest = kept_path(path)
    of_items = rest == ITEMS and method == "GET"
    return path.startswith(FOLDER) and bool(identity) and ((not rest and method in ("GET", "DELETE")) or of_items)


def not_found(path: str) -> str:
    """Return the words of an error: the response at a path is not kept."""
    return f"Response with id '{kept_path(path)[0][:SHOWN]}' not found."
