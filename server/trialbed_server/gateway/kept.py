"""The responses that a trial's model has given in the gateway, for requests that follow them or ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from trialbed.wire import ModelRequest
from trialbed.wire.dialects.responses import KeptResponses, ResponsesRequest, not_found
from trialbed_server.gateway.response import ResponseWriter
from trialbed_server.trials import OpenTrial

KIND = "invalid_request_error"


class ResponseKeeper:
    """Keeps the responses of all trials, each for the life of its trial."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[OpenTrial, KeptResponses] = WeakKeyDictionary()
        self._recorded: WeakKeyDictionary[OpenTrial, set[str]] = WeakKeyDictionary()

    def follow(self, trial: OpenTrial | None, request: ModelRequest) -> str:
        """Give a request its earlier conversation; return why that is not possible, empty if it is."""
        return self.refusal(trial, request)[0]

    def refusal(self, trial: OpenTrial | None, request: ModelRequest, *, strict: bool = False) -> tuple[str, str]:
        """Return why a request is not answered, and the error's code; both are empty if it is.

        Args:
            strict: whether it is refused where vendors refuse it though it has the right form.
        """
        kept = KeptResponses() if trial is None else self._trial(trial)
        return kept.refusal(request, strict=strict)

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
        return self._trial(trial).serve("GET", path) is not None

    async def serve(self, trial: OpenTrial, method: str, path: str, writer: ResponseWriter) -> None:
        """Answer a request for a response that may be kept."""
        document = self._trial(trial).serve(method, path)
        if document is not None:
            await writer.document(document)
        else:
            await writer.error(not_found(path), 404, KIND, "request")

    def _trial(self, trial: OpenTrial) -> KeptResponses:
        return self._of.setdefault(trial, KeptResponses())
