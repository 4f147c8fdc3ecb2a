"""The wire log: what the server saw of a trial."""

from __future__ import annotations

from datetime import datetime

from trialbed.records._apis import ApiRef
from trialbed.records._base import Json, Record
from trialbed.records._models import Usage


class SentCall(Record):
    """A tool call as the model sent it: ``arguments`` is the raw text, ``problem`` says why it cannot be made.

    ``problem`` is ``unknown tool`` (a name that was not offered), ``invalid json`` or ``not an object``.
    """

    name: str
    arguments: str
    problem: str | None = None


class ModelCall(Record):
    """One request to the gateway. Times are seconds; ``started`` counts from the opening of the trial.

    Attributes:
        first_token: seconds from the request to the first byte of the answer's body; None if none came.
        status: HTTP status given to the framework; 0 when the framework went away first.
        usage: as the model reported it, None where it did not.
        request: the request's body; ``response``: the body given back, byte for byte, as text.
    """

    started: float
    duration: float
    first_token: float | None = None
    status: int
    stream: bool = False
    request: str
    response: str
    request_bytes: int
    response_bytes: int
    usage: Usage | None = None
    finish_reason: str | None = None
    tool_calls: tuple[SentCall, ...] = ()
    error: str | None = None


class ApiCall(Record):
    """One request to the virtual API.

    Attributes:
        api: the Api asked for, in the dataset's spelling when it is one of the trial, else as sent.
        offered: whether the Api is one of the trial's.
        arguments: the parsed ``tool_input``, or its text where it does not parse.
        error: the API error given back, empty on success.
        provenance: ``cache:<how it was made>``, ``real``, ``template``, ``mini``, ``llm:<model>`` …; empty on error.
    """

    started: float
    duration: float
    api: ApiRef
    offered: bool
    arguments: Json
    status: int = 200
    error: str = ""
    response: Json = None
    provenance: str = ""


class WireLog(Record):
    """Everything the server saw of one trial, in order of arrival."""

    trial: str
    opened_at: datetime
    model_calls: tuple[ModelCall, ...] = ()
    api_calls: tuple[ApiCall, ...] = ()
