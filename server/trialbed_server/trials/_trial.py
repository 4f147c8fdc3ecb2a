"""An open trial, and how much of its traffic is kept."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from trialbed.contracts import TrialModel, World
from trialbed.records import (
    ApiCall,
    EmbeddingCall,
    Failure,
    Json,
    LimitName,
    ModelCall,
    TrialRegistration,
    WireLog,
)
from trialbed.tracebacks import tool_failure
from trialbed.wire.spans import Span, covered
from trialbed_server._clock import Clock
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials._put_in import PutIn
from trialbed_server.trials._worlds import HostedWorld

logger = logging.getLogger(__name__)

BODY_LIMIT = 2**20
"""Characters kept of one body."""

TRIAL_LIMIT = 64 * 2**20
"""Characters kept of all bodies of one trial together."""

Call = TypeVar("Call", covariant=True)


class RecordedCall(Protocol[Call]):
    """A request that is or was served for a trial."""

    def record(self) -> Call:
        """The record so far."""


class RecordedModelCall(RecordedCall[ModelCall], Protocol):
    """A request to the gateway that is or was served for a trial."""

    def flight(self) -> tuple[float, int | None] | None:
        """Seconds that it has been in flight, and the tokens so far, where they are known; None where it has ended."""

    def waiting(self) -> Span:
        """The spans in which the gateway repeated the request, or waited to; seconds on the trial's clock."""


class OpenTrial:
    """A trial while it is open: its registration, its Apis, and its log, in order of arrival.

    Args:
        world: one of Trialbed's own.
        hosted: one that is not.

    Attributes:
        model: answers its requests in the gateway; None where an endpoint does.
    """

    def __init__(
        self,
        registration: TrialRegistration,
        catalog: TargetCatalog,
        clock: Clock,
        world: World | None = None,
        model: TrialModel | None = None,
        hosted: HostedWorld | None = None,
    ) -> None:
        self.registration = registration
        self.model = model
        self.world = world
        self.hosted = hosted
        self._hosted_state: Json = None
        self.called_back = frozenset(registration.called_back)
        self.catalog = catalog
        self.budget = LogBudget()
        self.opened_at = clock.utcnow()
        self.model_calls: list[RecordedModelCall] = []
        self.api_calls: list[RecordedCall[ApiCall]] = []
        self.embedding_calls: list[EmbeddingCall] = []
        self._clock = clock
        self._opened = self._renewed = self._used = clock.monotonic()
        self._requests = 0
        self._steps = 0
        self._tokens = 0
        self._deadline: float | None = None
        faults = registration.faults
        self.faults = None if faults is None else PutIn(faults, registration.fault_key, clock)
        self._failure: Failure | None = None

    @property
    def model_name(self) -> str:
        """The name of the model that the agent was given."""
        return self.registration.model_name or self.registration.model

    @property
    def own_model(self) -> str:
        """The name of the model at the endpoint."""
        return self.registration.model if self.model is None else self.model.asks

    def timeout(self, default: float) -> float:
        """Seconds that the trial can take."""
        limits = self.registration.limits
        return default if limits is None else limits.timeout

    def note_failure(self, failure: Failure) -> None:
        """Record that a tool failed by its own fault; the first failure counts."""
        self._failure = self._failure or failure

    def take_step(self) -> LimitName | None:
        """Count a request to the model; the limit, if the trial has had all that one of its limits allows."""
        passed = self._passed_limit()
        if passed is None:
            self._steps += 1
        return passed

    def give_back_step(self) -> None:
        """Uncount a request that the model's endpoint did not answer."""
        self._steps -= 1

    def use_tokens(self, tokens: int) -> None:
        """Count the tokens that a request used."""
        self._tokens += tokens

    @property
    def tokens(self) -> int:
        """Tokens of all requests so far: as the model reported them, or an estimate where it did not."""
        return self._tokens

    def _passed_limit(self) -> LimitName | None:
        limits, most = self.registration.limits, self.registration.max_trial_tokens
        if limits is not None and self._steps >= limits.max_steps:
            return "max_steps"
        if most is not None and self._tokens >= most:
            return "max_trial_tokens"
        if limits is not None and self._is_late(limits.timeout):
            return "timeout"
        return None

    def _is_late(self, timeout: float) -> bool:
        """Return whether the trial's time is up for certain: it began, at the latest, with its first request."""
        now = self._clock.monotonic()
        if self._deadline is None:
            self._deadline = now + timeout
        return now > self._deadline + self.waited()

    def waited(self) -> float:
        """Seconds in which failed requests to the model were repeated, also while that goes on."""
        return covered(call.waiting() for call in self.model_calls)

    def flights(self) -> list[dict[str, Json]]:
        """The requests to the model that are in flight: each one's number in the trial, seconds and tokens so far."""
        found = ((place, call.flight()) for place, call in enumerate(self.model_calls, 1))
        return [
            {"request": place, "seconds": flight[0], "tokens": flight[1]}
            for place, flight in found
            if flight is not None
        ]

    def elapsed(self) -> float:
        """Seconds since the trial was opened."""
        return self._clock.monotonic() - self._opened

    def renew(self) -> None:
        """The opener of the trial is still there."""
        self._renewed = self._clock.monotonic()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A request of the trial is being served."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._used = self._clock.monotonic()

    def expires_in(self, idle: float) -> float:
        """Seconds until the trial is over because its opener is gone.

        Args:
            idle: seconds without a request or a renewal after which a trial without a lease is over.
        """
        now, lease = self._clock.monotonic(), self.registration.lease
        if lease is not None:
            return self._renewed + lease - now
        return idle if self._requests else max(self._used, self._renewed) + idle - now

    async def end_world(self) -> None:
        """Read the state of a foreign world, and let it go."""
        if self.hosted is None:
            return
        try:
            self._hosted_state = self.budget.keep_value(await self.hosted.end())
        except (TypeError, ValueError, RecursionError) as error:
            self.note_failure(tool_failure(f"{type(self.hosted.code).__name__}.state()", error, self.hosted.code))
        if self.hosted.failure is not None:
            self.note_failure(self.hosted.failure)

    def _state(self) -> Json:
        if self.world is None:
            return self._hosted_state
        try:
            return self.budget.keep_value(self.world.state())
        except Exception as error:
            logger.exception("the state of trial %s cannot be read", self.registration.trial)
            self.note_failure(tool_failure(f"{type(self.world).__name__}.state()", error, self.world))
            return None

    def wire_log(self) -> WireLog:
        """All that was seen; requests in flight as they stand."""
        state = self._state()
        log = WireLog(
            trial=self.registration.trial,
            opened_at=self.opened_at,
            model_name=self.model_name,
            model_calls=tuple(call.record() for call in self.model_calls),
            api_calls=tuple(call.record() for call in self.api_calls),
            state=state,
            failure=self._failure,
            embedding_calls=tuple(self.embedding_calls),
        )
        return log if self.model is None else self.model.complete(log)


class LogBudget:
    """The space that is left for one trial's log. A body over its share is cut in the log, never on the wire."""

    def __init__(self, *, body: int = BODY_LIMIT, trial: int = TRIAL_LIMIT) -> None:
        self._body = body
        self._left = trial

    def keep(self, text: str) -> str:
        """The text if it fits, else its beginning and a marker that says how long it was."""
        text = _utf8(text)
        room = min(self._body, self._left)
        if len(text) > room:
            text = f"{text[:room]}…[cut: {room} of {len(text)} characters kept]"
        self._left = max(0, self._left - len(text))
        return text

    def keep_value(self, value: Json) -> Json:
        """The JSON value if it fits, else the beginning of its text and the marker."""
        if isinstance(value, str):
            return self.keep(value)
        text = json.dumps(value, ensure_ascii=False)
        clean = _utf8(text)
        kept = self.keep(clean)
        if kept != clean:
            return kept
        return value if clean == text else json.loads(clean)


def body_text(body: bytes) -> str:
    """A body as text; bytes that are not UTF-8 become U+FFFD."""
    return body.decode("utf-8", "replace")


def _utf8(text: str) -> str:
    # Escapes in JSON can name half a character, which no record can be written with.
    return text.encode("utf-8", "replace").decode()
