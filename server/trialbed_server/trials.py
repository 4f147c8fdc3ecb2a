"""The open trials, and all that the server saw of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar, cast

from trialbed.conformity import made_world
from trialbed.contracts import ModelQuestion, ModelReply, ServedAnswer, Simulator, TrialModel, World
from trialbed.errors import TrialbedError
from trialbed.foreign_code import ForeignCode
from trialbed.records import (
    ApiCall,
    EmbeddingCall,
    Failure,
    Json,
    LimitName,
    ModelCall,
    TrialOpening,
    TrialRegistration,
    WireLog,
    WireTurn,
)
from trialbed.texts import record_json, whole_text
from trialbed.tracebacks import tool_failure
from trialbed.wire import check_depth
from trialbed.wire.estimates import Span, covered
from trialbed_server._clock import Clock
from trialbed_server.faults import PutIn
from trialbed_server.targets import TargetCatalog

logger = logging.getLogger(__name__)

T = TypeVar("T")

OWN = "trialbed_plugins."
"""The beginning of modules with worlds that answer every call immediately."""

CLOSING_SECONDS = 10.0
"""Seconds for a world to give its state when its trial is closed."""


def is_foreign(simulator: Simulator) -> bool:
    """Return whether a simulator makes worlds that are not Trialbed's own."""
    kind = type(simulator)
    makes = kind.world_from is not Simulator.world_from or kind.world is not Simulator.world
    return makes and not kind.__module__.startswith(OWN)


@dataclass(eq=False)
class HostedWorld:
    """A foreign world in a dedicated thread, which keeps the server from waiting for it.

    It is made when it is first asked.

    Attributes:
        seconds: the limit of one call.
    """

    simulator: Simulator
    state: Json
    seconds: float
    _world: World | None = None
    _is_made: bool = False
    _thread: ForeignCode = field(default_factory=lambda: ForeignCode(in_order=True))

    async def ask(self, work: Callable[[World], T], seconds: float | None = None) -> T | None:
        """Return the result of some work on the world; None if the simulator makes no world for the trial's state.

        Raises:
            StuckCode: it did not return in time.
            Exception: the world cannot be made.
        """

        def on_world() -> T | None:
            if not self._is_made:
                self._world = made_world(self.simulator, self.state)
                self._is_made = True
            return None if self._world is None else work(self._world)

        return cast("T | None", await self._thread.do(on_world, seconds or self.seconds, self.code))

    def drop(self) -> None:
        """Drop the world."""
        self._thread.end()

    @property
    def code(self) -> object:
        """Return the object that runs code, which is the world, or the simulator before there is one."""
        return self._world or self.simulator


OWN_MODELS = (OWN, "trialbed_scripted.")
"""The beginnings of modules with models that do a bounded amount of work for any request."""


class HostedModel(TrialModel):
    """A foreign model, made and asked in dedicated threads, which keeps the server from waiting for it.

    Args:
        begin: makes it.
        like: another model of its kind.
        seconds: the limit of one answer.
        registration: the trial.
    """

    def __init__(
        self,
        begin: Callable[[TrialRegistration], TrialModel | None],
        like: TrialModel,
        seconds: float,
        registration: TrialRegistration,
    ) -> None:
        self.asks, self.is_strict = like.asks, like.is_strict
        self._begin, self._seconds, self._registration = begin, seconds, registration
        self._code = ForeignCode(like)

    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """As the model does."""
        return cast("ModelReply | None", await self._code.wait(lambda: self._model.answer(question), self._seconds))

    def note_answer(self, question: ModelQuestion, answer: ServedAnswer | None) -> None:
        """As the model does, when its loop gets to it."""

        async def note() -> None:
            self._model.note_answer(question, answer)

        noted = asyncio.ensure_future(self._code.wait(note, CLOSING_SECONDS))
        noted.add_done_callback(lambda done: done.cancelled() or done.exception())

    def complete(self, log: WireLog) -> WireLog:
        """As the model does; not in the server's event loop."""
        self._code.end()
        return self._model.complete(log)

    @cached_property
    def _model(self) -> TrialModel:
        return cast("TrialModel", self._begin(self._registration))


BODY_LIMIT = 2**20
"""Characters kept of one body."""

DEEPEST, TOO_DEEP = 100, "[nested too deeply to be kept]"
"""Levels of a value that is kept as one, since few readers of a log take many more, and the text for endless ones."""

TRIAL_LIMIT = 64 * 2**20
"""Characters kept of all bodies of one trial together."""

Call = TypeVar("Call", covariant=True)


class RecordedCall(Protocol[Call]):
    """A request that is or was served for a trial."""

    def record(self) -> Call:
        """Return the record so far."""


class RecordedModelCall(RecordedCall[ModelCall], Protocol):
    """A request to the gateway that is or was served for a trial."""

    def waiting(self) -> Span:
        """Return the span of the gateway's repetitions and waits, in seconds on the trial's clock."""


@dataclass(eq=False)
class OpenTrial:
    """An open trial with its registration, its Apis, and its log in order of arrival.

    Attributes:
        world: Trialbed's own, if the trial has one.
        model: answers its requests in the gateway; None if an endpoint does.
        hosted: a world that is not Trialbed's own.
        tokens: of all requests so far, as reported by the model, or else an estimate.
        answered: how many requests the model has answered.
        runs_foreign_code: whether the model is not Trialbed's own.
        turns: the user's messages so far, with the agent's answers; empty if the task is one message.
    """

    registration: TrialRegistration
    catalog: TargetCatalog
    clock: Clock
    world: World | None = None
    model: TrialModel | None = None
    hosted: HostedWorld | None = None
    tokens: int = 0
    answered: int = 0
    runs_foreign_code: bool = False
    model_calls: list[RecordedModelCall] = field(default_factory=list)
    api_calls: list[RecordedCall[ApiCall]] = field(default_factory=list)
    embedding_calls: list[EmbeddingCall] = field(default_factory=list)
    turns: list[WireTurn] = field(default_factory=list)
    _state: Json = None
    _requests: int = 0
    _steps: int = 0
    _deadline: float | None = None
    _failure: Failure | None = None
    _answered: float | None = None

    def __post_init__(self) -> None:
        self.budget = LogBudget()
        self.called_back = frozenset(self.registration.called_back)
        self.opened_at = self.clock.utcnow()
        self._opened = self._renewed = self._used = self.clock.monotonic()
        faults = self.registration.faults
        self.faults = None if faults is None else PutIn(faults, self.registration.fault_key, self.clock)
        why = "goal" if self.registration.user else ""
        self.turns += [WireTurn(started=0.0, text=turn.text, why=why) for turn in self.registration.turns[:1]]

    @property
    def turn(self) -> int:
        """Return how many messages of the user came before the current one."""
        return max(0, len(self.turns) - 1)

    def take_answer(self, answer: str) -> bool:
        """Keep the agent's answer to the user's message; returns whether the user may write another one."""
        if not self.turns or self.turns[-1].answer is not None:
            return False
        kept = {"answer": self.budget.keep(answer), "at_limit": self._is_at_limit()}
        self.turns[-1] = self.turns[-1].model_copy(update=kept)
        self._answered = self.elapsed()
        return True

    def _is_at_limit(self) -> bool:
        """Return whether the agent may ask the model no more, and the last answer asks for calls."""
        limits = self.registration.limits
        if limits is None or self._steps < limits.max_steps:
            return False
        last = self.model_calls[-1].record()
        return bool(last.tool_calls or last.text_calls)

    def say(self, text: str | None, why: str = "") -> None:
        """Have the user write another message, or end the conversation with None.

        The limit on requests to the model counts for each message, and the time that the user takes for it does not.
        """
        began, now, self._answered = self._answered or 0.0, self.elapsed(), None
        if text is None:
            self.turns[-1] = self.turns[-1].model_copy(update={"end": why})
        else:
            self.turns.append(WireTurn(started=now, text=text, why=why, waited=now - began))
            self._steps = 0

    @property
    def user_calls(self) -> int:
        """How many calls of the user's tools were made."""
        return sum(len(turn.user_calls) for turn in self.turns)

    def add_user_call(self, call: ApiCall) -> None:
        """Keep a call of the user's own tools, which the last answer led to."""
        last = self.turns[-1]
        self.turns[-1] = last.model_copy(update={"user_calls": (*last.user_calls, call)})

    @property
    def model_name(self) -> str:
        """The name of the model that the agent was given."""
        return self.registration.model_name or self.registration.model

    @property
    def own_model(self) -> str:
        """The name of the model at the endpoint."""
        return self.registration.model if self.model is None else self.model.asks

    def timeout(self, default: float) -> float:
        """Return the seconds that the trial can take."""
        limits = self.registration.limits
        return default if limits is None else limits.timeout

    def note_failure(self, failure: Failure) -> None:
        """Record that a tool failed; the first failure counts."""
        self._failure = self._failure or failure

    def take_step(self) -> LimitName | None:
        """Count a request to the model, or return the limit of the trial that it would exceed."""
        limits, most = self.registration.limits, self.registration.max_trial_tokens
        if limits is not None and self._steps >= limits.max_steps:
            return "max_steps"
        if most is not None and self.tokens >= most:
            return "max_trial_tokens"
        if limits is not None and self._is_late(limits.timeout):
            return "timeout"
        self._steps += 1
        return None

    def give_back_step(self) -> None:
        """Uncount a request that the model's endpoint did not answer."""
        self._steps -= 1

    def _is_late(self, timeout: float) -> bool:
        """Return whether the trial's time is certainly up; it began with its first request at the latest."""
        now = self.clock.monotonic()
        if self._deadline is None:
            self._deadline = now + timeout
        return now > self._deadline and now > self._deadline + self.waited()

    def waited(self) -> float:
        """Return the seconds spent on repeating failed requests to the model, and on the user's messages, so far."""
        written = [(turn.started - turn.waited, turn.started) for turn in self.turns]
        written += [] if self._answered is None else [(self._answered, self.elapsed())]
        return covered([*written, *(call.waiting() for call in self.model_calls)])

    def elapsed(self) -> float:
        """Return the seconds since the trial was opened."""
        return self.clock.monotonic() - self._opened

    def renew(self) -> None:
        """Note that the opener of the trial is still there."""
        self._renewed = self.clock.monotonic()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Enter this while a request of the trial is being served."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._used = self.clock.monotonic()

    def expires_in(self, idle: float) -> float:
        """Return the seconds until the trial is over because its opener is gone.

        Args:
            idle: seconds without a request or a renewal after which a trial without a lease is over.
        """
        now, lease = self.clock.monotonic(), self.registration.lease
        if lease is not None:
            return self._renewed + lease - now
        return idle if self._requests else max(self._used, self._renewed) + idle - now

    async def end_world(self) -> None:
        """Read the state of the world, and drop a foreign one."""
        try:
            state = None if self.world is None else self.world.state()
            if self.hosted is not None:
                seconds = min(self.hosted.seconds, CLOSING_SECONDS)
                state = await self.hosted.ask(lambda world: world.state(), seconds)
            self._state = None if state is None else self.budget.keep_value(state)
        except Exception as error:
            code = self.world if self.hosted is None else self.hosted.code
            logger.exception("the state of trial %s cannot be read", self.registration.trial)
            self.note_failure(tool_failure(f"{type(code).__name__}.state()", error, code))
        finally:
            if self.hosted is not None:
                self.hosted.drop()

    def wire_log(self) -> WireLog:
        """Everything the server saw of the trial, including unfinished requests, with the remarks of its model."""
        log = self.log_so_far()
        return log if self.model is None else self.model.complete(log)

    def log_so_far(self) -> WireLog:
        """Everything that the server has seen of the trial so far."""
        return WireLog(
            trial=self.registration.trial,
            opened_at=self.opened_at,
            model_name=self.model_name,
            model_calls=tuple(call.record() for call in self.model_calls),
            api_calls=tuple(call.record() for call in self.api_calls),
            state=self._state,
            failure=self._failure,
            embedding_calls=tuple(self.embedding_calls),
            turns=tuple(self.turns),
        )

    async def log(self) -> str:
        """Return the log as JSON. A long one is made in a thread, and so is one with remarks of a foreign model."""
        if self.budget.used < BODY_LIMIT and not self.runs_foreign_code:
            return record_json(self.wire_log())
        code = ForeignCode(self.model)
        try:
            return cast("str", await code.do(lambda: record_json(self.wire_log()), CLOSING_SECONDS))
        except Exception as error:
            logger.exception("the log of trial %s has no remarks of its model", self.registration.trial)
            self.note_failure(tool_failure(f"{self.registration.model}: complete()", error, self.model))
            self.model = None
            return record_json(self.wire_log())


_encode = json.JSONEncoder(ensure_ascii=False).encode


class LogBudget:
    """The space left for one trial's log. A body over its share is cut in the log, never on the wire."""

    def __init__(self, *, body: int = BODY_LIMIT, trial: int = TRIAL_LIMIT) -> None:
        self._body = body
        self._left = self._all = trial

    @property
    def used(self) -> int:
        """Return the characters that are kept."""
        return self._all - self._left

    def keep(self, text: str) -> str:
        """Return the text if it fits, else its beginning and a marker that says how long it was."""
        text = whole_text(text)
        room = min(self._body, self._left)
        if len(text) > room:
            text = f"{text[:room]}…[cut: {room} of {len(text)} characters kept]"
        self._left = max(0, self._left - len(text))
        return text

    def keep_value(self, value: Json) -> Json:
        """Return the JSON value if it fits, else the beginning of its text and a marker; deep values stay as text."""
        if isinstance(value, str):
            return self.keep(value)
        try:
            text = _encode(value)
        except RecursionError:
            return self.keep(TOO_DEEP)
        clean = whole_text(text)
        kept = self.keep(clean)
        try:
            check_depth(value, text, DEEPEST)
        except ValueError:
            return kept
        if kept != clean:
            return kept
        return value if clean == text else json.loads(clean)


MAX_KEPT = 8 * 2**20
"""JSON characters of all setups to keep; the least recently used are forgotten first."""

UNLIMITED = 3600.0
"""Seconds for one call if the trial has no limits."""


@dataclass(frozen=True)
class TrialSetup:
    """The common part of some trials, with a registration and everything made of it once for all of them.

    Attributes:
        model: makes the model of each trial; None if an endpoint answers for all.
        runs_foreign_code: whether that is not Trialbed's own.
    """

    registration: TrialRegistration
    catalog: TargetCatalog
    simulator: Simulator
    model: Callable[[TrialRegistration], TrialModel | None] | None = None
    runs_foreign_code: bool = False

    def trial(self, opening: TrialOpening | TrialRegistration, clock: Clock) -> OpenTrial:
        """Open a trial that is set up like this, with its own world.

        Raises:
            Exception: the simulator makes no world of the state.
        """
        # The world may change its argument.
        state = json.loads(json.dumps(self.registration.state))
        own = {"trial": opening.trial, "seed": opening.seed, "fault_key": opening.fault_key, "state": state}
        registration = self.registration.model_copy(update=own)
        model = None if self.model is None else self.model(registration)
        trial = OpenTrial(registration, self.catalog, clock, model=model, runs_foreign_code=self.runs_foreign_code)
        if is_foreign(self.simulator):
            trial.hosted = HostedWorld(self.simulator, state, trial.timeout(UNLIMITED))
        else:
            trial.world = self.simulator.world_from(state)
        return trial


class Setups:
    """The setups that are kept, by name.

    Args:
        most: characters of their JSON together.
    """

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._size = 0
        self._kept: dict[str, tuple[TrialSetup, int]] = {}

    def find(self, name: str) -> TrialSetup | None:
        """Return the setup of this name; None if it is not kept, or no longer."""
        found = self._kept.pop(name, None)
        if found is None:
            return None
        # Last in the order of use.
        self._kept[name] = found
        return found[0]

    def keep(self, document: Mapping[str, Json], setup: TrialSetup) -> str:
        """Keep a setup and return its name, which is the same for registrations that differ only in their trial.

        Args:
            document: the registration in the form sent.
        """
        shared = {key: value for key, value in document.items() if key not in TrialOpening.model_fields}
        text = json.dumps(shared, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()
        _, known = self._kept.pop(name, (None, 0))
        self._kept[name] = setup, len(text)
        self._size += len(text) - known
        while self._size > self._most:
            self._size -= self._kept.pop(next(iter(self._kept)))[1]
        return name


MAX_CLOSED = 100_000
"""Closed tokens remembered; requests to older ones are unknown, no longer gone."""


class TrialRefused(TrialbedError):
    """There is no trial that a request could belong to.

    Attributes:
        status: of the response: 404 if there was never a trial of its token, 410 if it is closed, 403 if the request
            has no token and this server answers for trials only.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class TrialConflict(TrialbedError):
    """The token is in use, or another trial is the ambient one."""


class TrialRegistry:
    """Open trials by token, in memory. A trial's log is handed over when it is closed.

    A trial expires if its opener is gone: it is closed, and its log is dropped.

    Args:
        trials_only: refuse requests that belong to no trial.
        idle: seconds without a request after which a trial without a lease expires.
    """

    def __init__(self, *, trials_only: bool = False, idle: float = 600.0) -> None:
        self._trials_only = trials_only
        self._idle = idle
        self._open: dict[str, OpenTrial] = {}
        self._closed: dict[str, str] = {}
        self._ambient: OpenTrial | None = None

    def __len__(self) -> int:
        return len(self._open)

    def open(self, trial: OpenTrial) -> None:
        """Add an open trial.

        Raises:
            TrialConflict: its token is known, or it is ambient and another one is.
        """
        registration = trial.registration
        if registration.trial in self._open or registration.trial in self._closed:
            raise TrialConflict("a trial with this token exists; use a new token for every trial")
        if registration.ambient:
            self.expire()
            if self._ambient is not None:
                left = self._ambient.expires_in(self._idle)
                raise TrialConflict(
                    "another ambient trial is open, and requests without a token belong to one trial at a time; close "
                    f"it first, or wait: it expires in {left:.0f} s if its opener is gone"
                )
            self._ambient = trial
        self._open[registration.trial] = trial

    def close(self, token: str) -> OpenTrial:
        """Close a trial.

        Raises:
            TrialRefused: it is not open.
        """
        trial = self.find(token)
        self._forget(trial, "this trial is closed")
        return trial

    def find(self, token: str) -> OpenTrial:
        """Return the open trial of this token.

        Raises:
            TrialRefused: it is not open.
        """
        trial = self._open.get(token)
        if trial is not None and trial.expires_in(self._idle) > 0:
            return trial
        self.expire()
        if token in self._closed:
            raise TrialRefused(self._closed[token], 410)
        raise TrialRefused("no trial has this token; open one with POST /control/trials", 404)

    def of(self, token: str | None) -> OpenTrial | None:
        """Return the trial of a request by its token, or else the ambient trial, or None.

        Raises:
            TrialRefused: the trial is not open, or the request must have one.
        """
        if token is not None:
            return self.find(token)
        if self._ambient is not None and self._ambient.expires_in(self._idle) <= 0:
            self.expire()
        if self._ambient is None and self._trials_only:
            raise TrialRefused(
                "this server belongs to a run and answers only for its trials: use the base_url and the server_url "
                "that the agent was given, which contain the trial's token",
                403,
            )
        return self._ambient

    def expire(self) -> None:
        """Close the trials of openers that are gone."""
        for trial in [trial for trial in self._open.values() if trial.expires_in(self._idle) <= 0]:
            logger.warning("trial %s has expired: its opener is gone", trial.registration.trial)
            if trial.hosted is not None:
                trial.hosted.drop()
            self._forget(trial, "this trial has expired: its opener did not renew it, or nothing was asked for long")

    def _forget(self, trial: OpenTrial, reason: str) -> None:
        token = trial.registration.trial
        del self._open[token]
        self._closed[token] = reason
        if len(self._closed) > MAX_CLOSED:
            del self._closed[next(iter(self._closed))]
        if trial is self._ambient:
            self._ambient = None
