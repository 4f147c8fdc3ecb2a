"""Failures and their causes: of a trial, by the server's log of it, and of a run whose endpoint or server is out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from trialbed.errors import NothingMeasured, TrialbedError
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
from trialbed.wire import recorded_error

OWN_KINDS = frozenset({"memory", "protocol"})
"""Failures that no endpoint causes: they stand even where the endpoint failed too."""

CAPACITY = frozenset({401, 403, 404, 408, 425, 429})
"""Statuses below 500 that say nothing about the request: keys, addresses and capacity."""

MAX_REASON = 500
"""Characters of an endpoint's own words in a message."""


def classify(outcome: Outcome, wire: WireLog, *, in_process: bool = False) -> Outcome:
    """The outcome with the failure that the wire shows, whatever the agent says.

    An answer that is overruled stays beside the failure: it is a claim.

    Args:
        in_process: the agent is an object of the caller's process, which may ask a model that the gateway does not see.
    """
    failure = _failure(outcome, wire, in_process=in_process)
    return outcome if failure is outcome.failure else outcome.model_copy(update={"failure": failure})


def cause_of(call: ModelCall) -> Cause | None:
    """Return the cause of a model request that has no usable answer; None where it has one.

    The gateway names it; where it does not, the status decides.
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
    missing = next((call for call in wire.model_calls if cause_of(call) == "replay"), None)
    if missing is not None:
        return _instead(own, "replay", _reason(missing))
    refused = [call.limit or "max_steps" for call in wire.model_calls if cause_of(call) == "limit"]
    if refused:
        return _past_limit(own, refused)
    if own is not None and own.kind in OWN_KINDS:
        return own
    last = _last(wire)
    cause = cause_of(last) if last is not None else None
    if last is not None and cause in ("budget", "endpoint", "gateway"):
        return _instead(own, "server" if cause == "gateway" else cause, _reason(last))
    if own is None:
        return None if in_process else _failure_without_model(wire, last) or _failure_without_end(outcome, last)
    if last is not None and cause == "request":
        return _instead(own, "model", _reason(last))
    if own.kind == "model" and last is None:
        # It never asked, so it was not the model's answer that failed it.
        return own.model_copy(update={"kind": "agent"})
    return own


def _failure_without_model(wire: WireLog, last: ModelCall | None) -> Failure | None:
    """The failure of an agent that answers without an answer of the model."""
    if last is None:
        return Failure(kind="agent", message="the agent answered without a request to the model")
    if any(cause_of(call) is None for call in wire.model_calls):
        return None
    if cause_of(last) == "request":
        return Failure(kind="model", message=_reason(last))
    return Failure(kind="agent", message="the agent answered without waiting for an answer of the model")


def _failure_without_end(outcome: Outcome, last: ModelCall | None) -> Failure | None:
    """The failure of an agent that did not finish, as its last request has no usable answer.

    Some frameworks give the error's text back in place of an answer, where others raise an exception: the user of both
    got nothing.
    """
    if last is None or outcome.answer is None or outcome.answer.finish is not None:
        return None
    if cause_of(last) == "request" or (last.fault and last.error):
        return _instead(None, "model", _reason(last))
    return None


def _last(wire: WireLog) -> ModelCall | None:
    """The model request that ended last."""
    calls = enumerate(wire.model_calls)
    return max(calls, key=lambda item: (item[1].started + item[1].duration, item[0]), default=(0, None))[1]


def _instead(own: Failure | None, kind: FailureKind, message: str) -> Failure:
    """A failure in place of the agent's own end, which becomes its detail."""
    if own is None:
        return Failure(kind=kind, message=message, detail="The agent answered all the same.")
    detail = f"The agent ended with {own.kind}: {own.message}"
    return Failure(kind=kind, message=message, detail=f"{detail}\n{own.detail}".rstrip())


def _reason(call: ModelCall) -> str:
    """Return the reason of a failed model request, in the gateway's or the endpoint's words."""
    text = call.error or f"the model's endpoint answered with status {call.status}: {recorded_error(call)}"
    return text[:MAX_REASON].rstrip(" :")


def _past_limit(own: Failure | None, refused: Sequence[LimitName]) -> Failure:
    """The failure of a trial whose requests were refused. One that is only late ran out of time, whatever it says."""
    limit: LimitName = next((name for name in refused if name != "timeout"), "timeout")
    if limit == "timeout" and own is not None and own.kind == "timeout":
        return own
    kind: FailureKind = "timeout" if limit == "timeout" else "limit"
    return _instead(own, kind, f"stopped by the limit: {_requests(len(refused))} past {_option(limit)} refused")


def _option(limit: LimitName) -> str:
    """The option of ``bench run`` that sets a limit."""
    return f"--{limit.replace('_', '-')}"


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"


KEY_REFUSED = frozenset({401, 403})
"""Statuses with which endpoints refuse a key, or the lack of one."""

LIMIT = 8
"""Number of trials in a row that may fail in this way before no more are begun."""

PARTIES = {"budget": "the budget", "server": "Trialbed's server", "tool": "a tool"}
"""Kind of failure -> whose it is; the endpoint's for others."""

INTERVAL = 5.0
"""Seconds between looks at the endpoint."""


class Outage:
    """Watches, at any time of a run, for an endpoint or a server that fails trial after trial.

    Until the model has answered any request, refusals count too: an endpoint that refuses everything says nothing
    about a framework's requests, but that the model's name, the address or a setting is wrong.

    Args:
        key_variable: the environment variable of the endpoint's key, for the advice where the endpoint refuses it;
            models: those of the run, which may name other endpoints.

    Attributes:
        measured: whether any trial, or an earlier session of the run, has measured something.
        spent: how much of the run's budget is used, where that is all of it.
        gone: why there are no nodes for further trials; empty while there may be.
    """

    def __init__(self, *, measured: bool, key_variable: str, models: Sequence[str] = ()) -> None:
        self.measured = measured
        self._models = models
        self._key_variable = key_variable
        self.spent = self.gone = ""
        self._key_refused = False
        self._row = 0
        self._tried = 0
        self._last: Failure | None = None

    @property
    def over(self) -> bool:
        """Return whether it is pointless to begin further trials."""
        return self._row >= LIMIT or bool(self.spent or self.gone)

    def note(self, result: TrialResult) -> None:
        """A trial has ended; one that left its recording says nothing about the endpoint or the server.

        Nor does one whose node was lost.
        """
        if result.outcome.failure is not None and result.outcome.failure.kind == "lost":
            return
        if result.outcome.failure is not None and result.outcome.failure.kind == "replay":
            self.measured = True
            return
        self._tried += 1
        if result.outcome.failure is not None and result.outcome.failure.kind == "budget":
            self.spent = result.outcome.failure.message
        self.measured = self.measured or _says_something(result)
        if result.status == "not measured" or not self.measured:
            self._row += 1
            self._last = result.outcome.failure
            refused = any(call.status in KEY_REFUSED for call in result.wire.model_calls)
            # What is over the budget is refused by Trialbed.
            self._key_refused = refused and (self._last is None or self._last.kind != "budget")
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
        advice = f"; {key_hint(self._key_variable, self._models)}" if self._key_refused else ""
        raise NothingMeasured(
            f"nothing could be measured: {trials} failed because of {_party(self._last)}: {self._last.message}{advice}"
        )


def _says_something(result: TrialResult) -> bool:
    """Return whether a trial says something about its framework, even if the endpoint refused every request."""
    if result.status == "not measured":
        return False
    if result.outcome.failure is None or result.outcome.failure.kind != "model":
        return True
    # A request for another model than the run's, or one that is refused where a plain one is not, says nothing of the
    # endpoint.
    return any(cause_of(call) is None or call.other_model or call.provoked for call in result.wire.model_calls)


def _party(failure: Failure) -> str:
    return PARTIES.get(failure.kind, "the model's endpoint")


class EndpointWatch:
    """Looks at the models' endpoint now and then.

    Args:
        endpoint: gives its status.
        say: is given a line while requests wait and none is answered: at the second look that finds it so, then after
            twice as many each time.
        pause: sleeps.
    """

    def __init__(
        self,
        endpoint: Callable[[], Awaitable[EndpointStatus]],
        say: Callable[[str], None],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._say = say
        self._pause = pause
        self._answered = -1
        self._stuck = 0
        self._due = 1

    async def watch(self) -> None:
        """Look until cancelled; a server that does not answer is reported by the trials."""
        while True:
            await self._pause(INTERVAL)
            with suppress(TrialbedError):
                self._look(await self._endpoint())

    def _look(self, status: EndpointStatus) -> None:
        waits = status.waiting > 0 or status.held > 0 or status.state != "closed"
        self._stuck = self._stuck + 1 if waits and status.answered == self._answered else 0
        self._answered = status.answered
        if self._stuck >= self._due:
            self._say(_line(status))
            self._stuck, self._due = 0, 2 * self._due


def _line(status: EndpointStatus) -> str:
    if not status.waiting and status.state == "closed":
        requests = "1 request waits for its turn" if status.held == 1 else f"{status.held} requests wait for their turn"
        return f"waiting for the model's endpoint: {requests}, by its own limits or --rpm and --tpm"
    requests = "1 request waits" if status.waiting == 1 else f"{status.waiting} requests wait"
    state = {"open": ", and others are held back", "down": ", and others fail at once"}.get(status.state, "")
    return f"waiting for the model's endpoint: {requests} to be repeated{state}; the last failure: {status.reason}"
