"""An endpoint that plays a model. It rejects the requests that vendors reject, stores responses and applies faults."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trialbed.contracts import QuestionRefused
from trialbed.errors import UsageError
from trialbed.wire import parse_object, read_served
from trialbed.wire.dialects.responses import KeptResponses, ResponsesRequest
from trialbed_scripted._scripts import Model, ModelTurn, ReceivedRequest, Response, ask_model, fail
from trialbed_scripted.faults import Fault, FaultScript
from trialbed_scripted.policies import PolicyModel
from trialbed_scripted.vendor import SimulatedVendor

REFUSED = "invalid_request_error"


class ScriptedEndpoint:
    """Plays a model, independent of the transport.

    Args:
        kept: the number of requests to keep; None keeps all.

    Attributes:
        requests: the received requests, at most the last ``kept``.
        faults: the script of faults. It may be replaced while serving.
        met: the number of requests for each fault.
    """

    def __init__(
        self,
        model: Model | None = None,
        faults: FaultScript | str | None = None,
        *,
        kept: int | None = 10_000,
    ) -> None:
        self.requests: deque[ReceivedRequest] = deque(maxlen=kept)
        self.faults = FaultScript.read(faults) if isinstance(faults, str) else faults or FaultScript()
        self.met: Counter[str] = Counter()
        self._model = model or SimulatedVendor(self.faults.answers, self.faults.seed)
        self._received = 0
        self._attempts: dict[bytes, tuple[int, Fault]] = {}
        self._responses = KeptResponses()

    def receive(self, body: bytes, headers: Mapping[str, str], spoken: str, place: str = "") -> ReceivedRequest:
        """Read and count a request, and link it to the conversation it continues.

        Args:
            spoken: the name of its dialect.
            place: the name of its fault; empty to follow the script.
        """
        document, problem = parse_object(body)
        attempt, met = self._attempts.get(_key(body), (0, Fault()))
        lowered = {name.lower(): value for name, value in headers.items()}
        repeats = met != Fault()
        request = ReceivedRequest(self._received, document, body, lowered, attempt, repeats, spoken, problem, place)
        self._received += 1
        self.requests.append(request)
        if isinstance(request.asked, ResponsesRequest):
            self._responses.follow(request.asked)
        return request

    async def respond(self, request: ReceivedRequest) -> Response:
        if request.problem:
            return _refuse(request, request.problem)
        fault = self.faults.fault(request)
        self._attempts[_key(request.body)] = (request.attempt + 1, fault)
        self.met[fault.name] += 1
        return fault.refuse(request) or fault.change_response(await self._answer(request, fault), request)

    async def _answer(self, request: ReceivedRequest, fault: Fault) -> Response:
        document = fault.shorten(request.document)
        seen = request if document is request.document else replace(request, document=document)
        refusal = self._refusal(seen)
        if refusal is not None:
            return refusal
        try:
            said = await ask_model(self._model, seen)
        except QuestionRefused as refused:
            return _refuse(seen, str(refused))
        except UsageError as error:
            return fail(500, str(error), spoken=seen.spoken)
        if isinstance(said, Response):
            response = said
        else:
            turn = fault.change_turn(said, seen.asked)
            response = write_turn(turn, seen, fault, self.faults.answers)
        self._keep(seen, response)
        return response

    def _refusal(self, request: ReceivedRequest) -> Response | None:
        """Return the error response to a request that vendors reject, if it is one. The gateway does the same."""
        if request.asked.problem and not isinstance(self._model, PolicyModel):
            # Scripts and functions may answer anything, and a simulated vendor completes raw prompts.
            return None
        why, code = self._responses.refusal(request.asked, strict=True)
        return _refuse(request, why, code or None) if why else None

    def _keep(self, request: ReceivedRequest, response: Response) -> None:
        """Store a response if its dialect lets later requests refer to it."""
        asked = request.asked
        if isinstance(asked, ResponsesRequest) and response.status == 200:
            reading = read_served(request.dialect, response.body, asked, stream=asked.stream)
            self._responses.keep(asked, reading.response, len(request.body) + len(response.body))


def write_turn(turn: ModelTurn, request: ReceivedRequest, fault: Fault, answers: Mapping[str, Any]) -> Response:
    """Write a turn as the response to a request, whole or streamed."""
    answer = turn.answer(model=request.asked.model, id=turn.id or str(request.number), fingerprint="fp_scripted")
    try:
        response = fault.edit(Response.answer(answer, request.asked, request.spoken), request.dialect)
    except LookupError as error:
        return fail(501, str(error), REFUSED, spoken=request.spoken)
    if request.asked.stream:
        return replace(response, first=answers["first_token"], gap=answers["gap"])
    return replace(response, wait=answers["first_token"])


def _refuse(request: ReceivedRequest, problem: str, code: str | None = None) -> Response:
    return fail(400, problem, REFUSED, code=code, spoken=request.spoken)


def _key(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()
