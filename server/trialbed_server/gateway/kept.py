"""The responses that a trial's model has given in the gateway, for requests that follow them or ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from trialbed.wire import ModelRequest
from trialbed.wire.dialects.responses import KeptResponses, ResponsesRequest
from trialbed_server.gateway.response import ResponseWriter
from trialbed_server.trials import OpenTrial

FOLDER = "responses/"
"""The beginning of the paths of responses that are kept."""

ITEMS = "input_items"

KIND = "invalid_request_error"


class ResponseKeeper:
    """Keeps the responses of all trials, each for the life of its trial."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[OpenTrial, KeptResponses] = WeakKeyDictionary()
        self._recorded: WeakKeyDictionary[OpenTrial, set[str]] = WeakKeyDictionary()

    def follow(self, trial: OpenTrial | None, request: ModelRequest) -> str:
        """Give a request its earlier conversation; return why that is not possible, empty if it is."""
        if not isinstance(request, ResponsesRequest) or not request.follows:
            return ""
        if trial is not None and self._trial(trial).follow(request):
            return ""
        return f"Previous response with id '{request.follows[:100]}' not found."

    def follows_recorded(self, trial: OpenTrial, request: ModelRequest) -> bool:
        """Return whether a request follows a recorded response, which its endpoint may never have given."""
        return isinstance(request, ResponsesRequest) and request.follows in self._recorded.get(trial, ())

    def keep(
        self,
        trial: OpenTrial,
        request: ModelRequest,
        document: Mapping[str, Any] | None,
        size: int,
        *,
        recorded: bool = False,
    ) -> None:
        """Keep the answer to a request, where its dialect has such.

        Args:
            document: the answer; None where there is none, or not all of it is known.
            size: bytes of the request and the answer.
            recorded: whether the answer is one of an earlier request's.
        """
        if document is not None and isinstance(request, ResponsesRequest) and request.keeps:
            self._trial(trial).keep(request, dict(document), size)
            if recorded:
                self._recorded.setdefault(trial, set()).add(str(document.get("id")))

    def holds(self, trial: OpenTrial, path: str) -> bool:
        """Return whether the gateway has the response at a path."""
        return self._trial(trial).document(path.removeprefix(FOLDER).partition("/")[0]) is not None

    async def serve(self, trial: OpenTrial, method: str, path: str, writer: ResponseWriter) -> None:
        """Answer a request for a response that may be kept."""
        identity, _, rest = path.removeprefix(FOLDER).partition("/")
        kept = self._trial(trial)
        if method == "DELETE" and not rest and kept.delete(identity):
            await writer.document({"id": identity, "object": "response", "deleted": True})
        elif method == "GET" and not rest and (document := kept.document(identity)) is not None:
            await writer.document(document)
        elif method == "GET" and rest == ITEMS and (items := kept.items(identity)) is not None:
            await writer.document({"object": "list", "data": items, "has_more": False})
        else:
            await writer.error(f"Response with id '{identity[:100]}' not found.", 404, KIND, "request")

    def _trial(self, trial: OpenTrial) -> KeptResponses:
        return self._of.setdefault(trial, KeptResponses())


def is_kept(method: str, path: str) -> bool:
    """Return whether a request asks for a response that may be kept, or for its end."""
    identity, _, rest = path.removeprefix(FOLDER).partition("/")
    of_items = rest == ITEMS and method == "GET"
    return path.startswith(FOLDER) and bool(identity) and ((not rest and method in ("GET", "DELETE")) or of_items)
