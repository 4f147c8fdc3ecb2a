"""The failure of a trial by the server's log of it, and the end of a run in which trial after trial fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from trialbed.engine._background import RunProgress
from trialbed.errors import NothingMeasured, TrialbedError
from trialbed.local_endpoint import OBJECT_FAILED
from trialbed.models import key_hint
from trialbed.records import (
    Cause,
    EndpointStatus,
    Failure,
    FailureKind,
    LimitName,
    ModelCall,
    Outcome,
    TrialResult,
    WireLog,
)
from trialbed.texts import number_of
from trialbed.wire import recorded_error, recorded_request

OWN_KINDS = frozenset({"memory", "protocol"})
"""Failures that no endpoint causes; they count even if the endpoint failed too."""

CAPACITY = frozenset({401, 403, 404, 408, 425, 429})
"""Statuses below 500 that concern keys, addresses and capacity instead of the request."""

FORGET = "give Trialbed the agent's class, or have the agent forget its messages when `history` is empty"

MAX_REASON = 500
"""Characters of an endpoint's own words in a message."""


def classify(outcome: Outcome, wire: WireLog, *, in_process: bool = False, leaked: Sequence[str] = ()) -> Outcome:
    """Return the outcome with the failure that the wire shows, even if the agent claims otherwise.

    If the agent gave an answer, it is kept next to the failure as its claim.

    Args:
        in_process: the agent is an object of the caller's process, which may ask a model that the gateway does not see.
        leaked: messages of the agent's earlier conversations in the first request of this one.
    """
    failure = _failure(outcome, wire, in_process=in_process)
    if failure is None and leaked:
        sent = f"request 1 has {number_of(len(leaked), 'message')} of an earlier conversation (first: {leaked[0]})"
        failure = Failure(kind="agent", message=f"{sent}; {FORGET}")
    return outcome if failure is outcome.failure else outcome.model_copy(update={"failure": failure})


def cause_of(call: ModelCall) -> Cause | None:
    """Return the cause of a model request that has no usable answer, or None if it has one.

    The gateway names the cause; otherwise it follows from the status.
    """
    if call.fault:
        # Put in on purpose: the agent answers for the consequences.
        return None
    if call.cause is not None or 200 <= call.status < 400:
        return call.cause
    if call.status == 0:
        return "gone"
    return "endpoint" if call.status >= 500 or call.status in CAPACITY else "request"


def _failure(outcome: Outcome, wire: WireLog, *, in_process: bool) -> Failure | None:
    own = outcome.failure
    if own is not None and own.kind in ("lost", "server", "tool"):
        return own
    calls = [call for call in wire.model_calls if cause_of(call) != "path"]
    missing = next((call for call in calls if cause_of(call) == "replay"), None)
    if missing is not None:
        return _instead(own, "replay", _reason(missing))
    refused = [call.limit or "max_steps" for call in calls if cause_of(call) == "limit"]
    if refused:
        return _past_limit(own, refused)
    if own is not None and own.kind in OWN_KINDS:
        return own
    last = _last(calls)
    cause = cause_of(last) if last is not None else None
    if last is not None and cause in ("endpoint", "gateway") and not _broke_off(last, calls, own):
        return _instead(own, "server" if cause == "gateway" else cause, _reason(last))
    if own is None:
        return None if in_process else _failure_without_model(wire, calls) or _failure_without_end(outcome, last)
    if last is not None and cause == "request":
        return _instead(own, _refusal_kind(last), _reason(last))
    if own.kind == "model" and last is None:
        # It never asked, so it was not the model's answer that failed it.
        return own.model_copy(update={"kind": "agent"})
    return own


def _broke_off(last: ModelCall, calls: Sequence[ModelCall], own: Failure | None) -> bool:
    """Return whether the agent itself closed its last request before the endpoint answered.

    If the model has answered, the agent's end is its own doing. Otherwise an agent with a poor answer could provoke
    this.
    """
    had_answer = any(cause_of(call) is None and call.status for call in calls)
    return last.status == 0 and had_answer and (own is None or own.kind != "timeout")


def _failure_without_model(wire: WireLog, calls: Sequence[ModelCall]) -> Failure | None:
    """Return the failure of an agent that answers without an answer of the model.

    Args:
        calls: the logged requests that were sent to a model.
    """
    last = _last(calls)
    if last is None:
        elsewhere = f": {_reason(wire.model_calls[-1])}" if wire.model_calls else ""
        return Failure(kind="agent", message=f"the agent answered without a request to the model{elsewhere}")
    if any(cause_of(call) is None for call in calls):
        return None
    if cause_of(last) == "request":
        return Failure(kind=_refusal_kind(last), message=_reason(last))
    return Failure(kind="agent", message="the agent answered without waiting for an answer of the model")


def _failure_without_end(outcome: Outcome, last: ModelCall | None) -> Failure | None:
    """Return the failure of an agent that did not finish because its last request has no usable answer.

    Some frameworks return the error's text as the answer and others raise an exception. Neither helps the user.
    """
    if last is None or outcome.answer is None or outcome.answer.finish is not None:
        return None
    if cause_of(last) == "request" or (last.fault and last.error):
        return _instead(None, _refusal_kind(last), _reason(last))
    return None


def _refusal_kind(call: ModelCall) -> FailureKind:
    """Return the kind of failure of a request that was refused; no model can help a tool's result of a wrong type."""
    request = recorded_request(call)
    sent = request.messages if request is not None and request.conflict else ()
    wrong = any(message.role == "tool" and not isinstance(message.content, str | list) for message in sent)
    return "agent" if wrong else "model"


def _last(calls: Sequence[ModelCall]) -> ModelCall | None:
    return max(enumerate(calls), key=lambda item: (item[1].started + item[1].duration, item[0]), default=(0, None))[1]


def _instead(own: Failure | None, kind: FailureKind, message: str) -> Failure:
    """Return a failure that replaces the agent's own end, which becomes its detail."""
    if own is None:
        return Failure(kind=kind, message=message, detail="The agent answered all the same.")
    detail = f"The agent ended with {own.kind}: {own.message}"
    return Failure(kind=kind, message=message, detail=f"{detail}\n{own.detail}".rstrip())


def _reason(call: ModelCall) -> str:
    """Return the reason of a failed model request, in the gateway's or the endpoint's words."""
    text = call.error or f"the model's endpoint answered with status {call.status}: {recorded_error(call)}"
    return text[:MAX_REASON].rstrip(" :")


def _past_limit(own: Failure | None, refused: Sequence[LimitName]) -> Failure:
    """Return the failure of a trial with refused requests; a late trial counts as a timeout."""
    limit: LimitName = next((name for name in refused if name != "timeout"), "timeout")
    if limit == "timeout" and own is not None and own.kind == "timeout":
        return own
    kind: FailureKind = "timeout" if limit == "timeout" else "limit"
    option = f"--{limit.replace('_', '-')}"
    return _instead(own, kind, f"stopped by the limit: {number_of(len(refused), 'request')} past {option} refused")


KEY_REFUSED = frozenset({401, 403})
"""Statuses of endpoints that refuse a key, or the lack of one."""

LIMIT = 8
"""Number of trials in a row that may fail in this way before no more are begun."""

INTERVAL = 5.0
"""Seconds between two looks at the endpoint."""

PARTIES = {"server": "Trialbed's server", "tool": "a tool"}
"""Kind of failure -> the party at fault; the endpoint for other kinds."""


@dataclass(kw_only=True)
class Outage:
    """Watches, at any time of a run, for an endpoint or a server that fails trial after trial.

    Until the model has answered a request, refusals count too. If an endpoint refuses everything, the model's name, the
    address or a setting is wrong, not a framework's requests.

    Args:
        key_variable: the environment variable of the endpoint's key, for the advice if the endpoint refuses it.

    Attributes:
        measured: whether any trial, or an earlier session of the run, has measured something.
        spent: why the run's budget covers no further trial; empty while it may.
        gone: why there are no nodes for further trials; empty while there may be.
    """

    measured: bool
    key_variable: str
    models: Sequence[str] = ()
    spent: str = field(default="", init=False)
    gone: str = field(default="", init=False)
    _key_refused: bool = field(default=False, init=False)
    _row: int = field(default=0, init=False)
    _tried: int = field(default=0, init=False)
    _last: Failure | None = field(default=None, init=False)

    @property
    def over(self) -> bool:
        """Return whether it is pointless to begin further trials."""
        return self._row >= LIMIT or bool(self.spent or self.gone)

    def note(self, result: TrialResult) -> None:
        """Take note of a trial that has ended.

        A trial says nothing about the endpoint or the server if it left its recording or lost its node.
        """
        failure = result.outcome.failure
        kind = None if failure is None else failure.kind
        if kind == "lost":
            return
        if kind == "replay":
            self.measured = True
            return
        self._tried += 1
        self.measured = self.measured or _says_something(result)
        if result.status == "not measured" or not self.measured:
            self._row += 1
            self._last = failure
            self._key_refused = any(call.status in KEY_REFUSED for call in result.wire.model_calls)
        else:
            self._row = 0

    def check(self) -> None:
        """See whether the run has measured anything.

        Raises:
            NothingMeasured: it has not; gives the last trial's reason.
        """
        if not self.measured and self.gone:
            raise NothingMeasured(f"nothing could be measured: {self.gone}")
        if self.measured or self._last is None:
            return
        trials = "the one trial that was tried" if self._tried == 1 else f"all {self._tried} trials that were tried"
        advice = f"; {key_hint(self.key_variable, self.models)}" if self._key_refused else ""
        failed = self._last.message
        # A model that is an object has no endpoint that could be blamed.
        party = PARTIES.get(self._last.kind, "the model's endpoint")
        party = "" if OBJECT_FAILED.match(failed) else f" because of {party}"
        raise NothingMeasured(f"nothing could be measured: {trials} failed{party}: {failed}{advice}")


def _says_something(result: TrialResult) -> bool:
    """Return whether a trial says something about its framework, even if the endpoint refused every request."""
    if result.status == "not measured":
        return False
    if result.outcome.failure is None or result.outcome.failure.kind != "model":
        return True
    # A request for another model than the run's, or one that is refused while a plain one is not, says nothing of the
    # endpoint.
    return any(cause_of(call) is None or call.other_model or call.provoked for call in result.wire.model_calls)


async def watch_endpoint(
    endpoint: Callable[[], Awaitable[EndpointStatus]],
    progress: RunProgress,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Look at the models' endpoint until cancelled; trials report a server that does not answer.

    Args:
        endpoint: gives its status.
        progress: is told at each look that the run goes on. It gets a note while requests wait and none is answered: at
            the second look that finds it so, then after twice as many each time.
        pause: sleeps.
    """
    answered, stuck, due = -1, 0, 1
    while True:
        await pause(INTERVAL)
        progress.goes_on()
        with suppress(TrialbedError):
            status = await endpoint()
            waits = status.waiting > 0 or status.held > 0 or status.state != "closed"
            stuck = stuck + 1 if waits and status.answered == answered else 0
            answered = status.answered
            if stuck >= due:
                progress.note(_waiting_line(status))
                stuck, due = 0, 2 * due


def _waiting_line(status: EndpointStatus) -> str:
    if not status.waiting and status.state == "closed":
        requests = "1 request waits for its turn" if status.held == 1 else f"{status.held} requests wait for their turn"
        return f"waiting for the model's endpoint: {requests}, by its own limits or --rpm and --tpm"
    requests = "1 request waits" if status.waiting == 1 else f"{status.waiting} requests wait"
    state = {"open": ", and others are held back", "down": ", and others fail at once"}.get(status.state, "")
    return f"waiting for the model's endpoint: {requests} to be repeated{state}; the last failure: {status.reason}"
