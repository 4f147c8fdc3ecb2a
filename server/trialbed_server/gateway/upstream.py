"""The upstream model endpoints, behind a byte-faithful proxy that repeats failed requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import get_args

from trialbed.local_endpoint import OBJECT_FAILED
from trialbed.records import CircuitState, EndpointStatus
from trialbed.wire import TRANSIENT, ModelMessage, RetryWaits, lenient_json, may_recover, retry_after
from trialbed.wire.dialects import CHAT, Dialect
from trialbed_server._clock import Clock
from trialbed_server._http import aiohttp
from trialbed_server.gateway.circuit import (
    KEY_REFUSED,
    NOT_SPOKEN,
    NOT_THERE,
    PLAINLY_ASKED,
    Circuit,
    EndpointDown,
    Liveness,
    Pace,
    PacedTurn,
    blames_request,
    cause_of_status,
    lacks_model,
    repeats_a_broken_call,
)
from trialbed_server.gateway.connection import Connection, ProxiedRequest
from trialbed_server.gateway.exchange import FINAL, Header, RecordedExchange, Refused, ResponseWriter, next_piece


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt that brought no answer to pass on.

    Attributes:
        status: the endpoint's; 0 if none came.
        answer: status, headers and body to give back if there is no other attempt; the body is None without an answer.
        asked: the seconds of the endpoint's ``Retry-After``.
        transient: whether another attempt may succeed.
        unspoken: whether the endpoint seems not to speak the dialect, and should be asked in another one.
        absent: whether there was no connection, and never an answer before: the address is probably wrong.
        provoked: whether the endpoint answered a plain request of the gateway's own after it.
    """

    status: int
    message: str
    answer: tuple[int, list[Header], bytes | None]
    asked: float | None = None
    transient: bool = True
    absent: bool = False
    provoked: bool = False
    unspoken: bool = False


Spoken = tuple[str, str]
"""A model and the name of a dialect."""


@dataclass
class SpokenDialects:
    """The dialects of an endpoint's models; it may serve several models in different ones.

    Attributes:
        answered: the models that have answered in a dialect.
        refused: the models that have not.
        sought: the models that were tried in all other dialects without success.
    """

    answered: set[Spoken] = field(default_factory=set)
    refused: set[Spoken] = field(default_factory=set)
    sought: set[Spoken] = field(default_factory=set)

    def lacks(self, model: str, name: str) -> bool:
        """Return whether a model is known not to answer in a dialect."""
        # Of two simultaneous requests in one dialect, one may be refused and the other answered.
        return (model, name) in self.refused and (model, name) not in self.answered


PROMPT = "Reply with the word OK."

PATIENCE = 30.0
"""Seconds within which a plain request must be answered."""


@dataclass
class PlainRequests:
    """Send plain requests, with a key, the model's name and a short message.

    Attributes:
        pace: of all requests to the endpoint, which these keep, too.
        answered: how many were.
    """

    connection: Connection
    pace: Pace
    answered: int = 0
    _next: dict[tuple[str, str], asyncio.Task[int]] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def status(self, model: str, spoken: Dialect) -> int:
        """Return the status of the answer to a plain request that is sent from now on; 0 if no answer comes.

        It is also 0 if the endpoint reports that the model is missing, because that says nothing about the dialect. One
        is sent at a time.
        """
        key = model, spoken.NAME
        if key not in self._next:
            self._next[key] = asyncio.create_task(self._ask(model, spoken))
        return await asyncio.shield(self._next[key])

    async def _ask(self, model: str, spoken: Dialect) -> int:
        async with self._turn:
            # A refusal that comes from now on needs a later request: the key may have gone meanwhile.
            del self._next[model, spoken.NAME]
            request = _plain(model, spoken)
            await self.pace.pass_by(request.tokens)
            try:
                async with asyncio.timeout(PATIENCE), self.connection.send(request) as answer:
                    status = answer.status
                    if status in NOT_SPOKEN and lacks_model((await self.connection.refusal(answer))[1]):
                        status = 0
            except (aiohttp.ClientError, OSError):
                status = 0
        self.answered += is_answer(status)
        return status


def is_answer(status: int) -> bool:
    """Return whether a status means success; 0 means that no response came."""
    return 0 < status < 300


def _plain(model: str, spoken: Dialect) -> ProxiedRequest:
    document = spoken.write_request(model, [ModelMessage(role="user", content=PROMPT)], {})
    headers = [(name.encode(), value.encode()) for name, value in spoken.HEADERS.items()]
    headers.append((b"content-type", b"application/json"))
    body, read = json.dumps(document).encode(), spoken.read_request(document)
    return ProxiedRequest("POST", f"/{spoken.PATH}", headers, body, PATIENCE, read, spoken, model)


SHOWN = 300
"""Bytes of an error's body that its message shows."""

CONNECTIONS = 3
"""Attempts to connect to an endpoint that never answered; a wrong address should be reported soon."""

REFUSALS = 3
"""Attempts that an endpoint refuses while it answers plain requests, before the request is to blame."""

REMEMBERED = 10_000
"""Requests that are remembered because the endpoint failed at them."""


class Upstream(Connection):
    """Forward requests to an endpoint and stream the answers through; an async context manager.

    Attributes:
        circuit: the endpoint's circuit breaker.
        dialects: of its models' answers.
        pace: when requests are sent.
    """

    def __init__(self, url: str, key: str | None, clock: Clock, policy: RetryWaits, pace: Pace) -> None:
        super().__init__(url, key)
        self._clock = clock
        self._policy = policy
        self._liveness = {continued: Liveness(clock) for continued in (False, True)}
        self._blamed: dict[bytes, int] = {}
        self._continued = 0
        self._waiting = 0
        self._arrivals = count(1)
        self.circuit = Circuit(clock, policy.patience)
        self.dialects = SpokenDialects()
        self.pace = pace
        self._plain = PlainRequests(self, pace)

    def status(self) -> EndpointStatus:
        """Return whether the endpoint works."""
        circuit = self.circuit
        reason = "" if circuit.state == "closed" and not self._waiting else circuit.reason
        return EndpointStatus(
            state=circuit.state,
            answered=circuit.answered,
            reason=reason,
            waiting=self._waiting,
            held=self.pace.in_line,
            at_a_time=self.pace.limit,
        )

    async def speaks(self, request: ProxiedRequest, goal: Dialect, exchange: RecordedExchange) -> bool:
        """Return whether a model answers a plain request in a dialect that the request cannot be written in."""
        if (request.named, goal.NAME) in self.dialects.answered:
            return True
        plain = replace(request, model=request.named, spoken=goal)
        status = await self._plain_status(plain, exchange) if request.named else 0
        if is_answer(status):
            self.dialects.answered.add((request.named, goal.NAME))
        elif status in NOT_SPOKEN:
            self.dialects.refused.add((request.named, goal.NAME))
        return is_answer(status)

    async def forward(self, request: ProxiedRequest, writer: ResponseWriter) -> bool:
        """Send a request on and its answer back, piece by piece; return False if it does not speak the dialect.

        Failures before the first byte of the answer's body are repeated within the policy. The last failure is given
        back: the endpoint's own answer if there is one, else a 502, 503 or 504 in the dialect's form. An answer that
        breaks off later is left incomplete, like the upstream's.
        """
        failure = await self._repeatedly(request, writer)
        if failure is not None and failure.unspoken:
            return False
        if failure is not None:
            await self._give_up(request, writer, failure)
        return True

    async def _repeatedly(self, request: ProxiedRequest, writer: ResponseWriter) -> FailedAttempt | None:
        """Return the last failure; None if an answer was passed on, whole or cut."""
        failure: FailedAttempt | None = None
        since, number, arrival = 0.0, 0, next(self._arrivals)
        try:
            while True:
                number += 1
                patience = self._policy.patience - (self._clock.monotonic() - since if failure else 0.0)
                found, held = await self._in_turn(request, writer, arrival, patience)
                # Its patience is for failures, not for its turn.
                since += held
                if found is None:
                    return None
                if failure is None:
                    since = self._clock.monotonic()
                    self._waiting += 1
                failure = found
                wait = self._wait(failure, number, self._clock.monotonic() - since)
                if wait is None:
                    return failure
                writer.exchange.attempt_failed(failure.status, failure.message, wait)
                await self._clock.sleep(wait)
        except EndpointDown as error:
            message = f"the request was not sent, as the endpoint keeps failing: {error}"
            return failure or FailedAttempt(0, message, (503, [], None))
        finally:
            self._waiting -= failure is not None

    async def _in_turn(
        self, request: ProxiedRequest, writer: ResponseWriter, arrival: int, patience: float
    ) -> tuple[FailedAttempt | None, float]:
        """Send the request in its turn; return the failure, and the seconds of waiting for the turn."""
        waits, held = writer.exchange.waits, 0.0
        while True:
            async with (
                self.circuit.request(patience, waits) as probe,
                self.pace.turn(arrival, request.tokens, waits, partial(self._may_go, probe)) as turn,
            ):
                held += turn.held
                if not turn.void:
                    return await self._attempt(request, writer, turn), held

    def _may_go(self, probe: bool) -> bool:
        """Return whether a request may be sent now; the circuit may have opened while it was in line."""
        return probe or not self.circuit.is_open

    def _wait(self, failure: FailedAttempt, number: int, elapsed: float) -> float | None:
        again = failure.transient or (failure.provoked and failure.status in PLAINLY_ASKED and number < REFUSALS)
        if not again or (failure.absent and number >= CONNECTIONS):
            return None
        return self._policy.wait(number, elapsed, failure.asked)

    async def _attempt(self, request: ProxiedRequest, writer: ResponseWriter, turn: PacedTurn) -> FailedAttempt | None:
        """Send the request once; None if its answer was passed on, whole or cut."""
        asked = self._clock.monotonic()
        continued = request.read.is_continued
        silent = partial(self._liveness[continued].silent_since, asked)
        writer.exchange.attempt_began(silent)
        try:
            async with self.send(request) as answer:
                if answer.status >= 300:
                    failure = await self._refusal(request, answer, writer.exchange)
                    self.pace.note_refusal(turn, failure.status, failure.asked)
                    return failure
                await self._pass_on(answer, writer, asked, continued=continued)
        except (aiohttp.ClientError, OSError) as error:
            return self._fail(request, writer, error)
        except asyncio.CancelledError:
            # The framework has left, or its trial's time is up.
            if writer.started:
                self.circuit.completed(answered=False)
            elif silent():
                self.circuit.refused(request.digest, f"the upstream endpoint {self.url} does not begin to answer")
            raise
        self._blamed.pop(request.digest, None)
        self._continued += continued
        self.dialects.answered.add((request.named, request.spoken.NAME))
        self.pace.note_answer()
        # Other requests, such as for vectors, take about as many tokens as was assumed.
        usage = writer.exchange.used() if self.pace.counts_tokens and request.asks else None
        if usage is not None:
            self.pace.set_tokens(turn, usage.total_tokens)
        self.circuit.completed(answered=True)
        return None

    async def _pass_on(
        self, answer: aiohttp.ClientResponse, writer: ResponseWriter, asked: float, *, continued: bool
    ) -> None:
        redactor = self.redactor()
        pieces = answer.content.iter_any()
        # Until the first byte is there the request can be repeated, so nothing is said before.
        piece: bytes | None = await anext(pieces, None)
        # Who answers later turns answers first ones too, but not the reverse.
        for kind in (False, True) if continued else (False,):
            self._liveness[kind].began(asked)
        self.circuit.begins_to_answer()
        await writer.start(answer.status, self.response_headers(answer))
        try:
            while piece is not None:
                await writer.write(redactor.feed(piece))
                piece = await next_piece(pieces, writer)
        except (aiohttp.ClientError, OSError):
            # Of an answer that is cut, too, all that came is passed on.
            await writer.write(redactor.flush())
            raise
        await writer.finish(redactor.flush())

    async def _refusal(
        self, request: ProxiedRequest, answer: aiohttp.ClientResponse, exchange: RecordedExchange
    ) -> FailedAttempt:
        headers, body = await self.refusal(answer)
        said, full = body[:SHOWN].decode("utf-8", "replace"), (answer.status, headers, body)
        again = may_recover(answer.status, said) and answer.headers.get("x-should-retry") != "false"
        if not request.asks and (400 <= answer.status < 500 or answer.status == 501):
            # An endpoint may lack such routes, which says nothing about its models.
            vain = request.tentative and answer.status in NOT_SPOKEN
            return FailedAttempt(answer.status, said, full, retry_after(answer.headers), transient=again, unspoken=vain)
        maybe_unspoken = request.tentative and answer.status in NOT_SPOKEN and not lacks_model(body)
        # All others are asked in chat completions next, which shows as much as a plain request.
        provoked = not (maybe_unspoken and request.spoken.NAME != CHAT) and await self._is_provoked(
            request, answer.status, exchange
        )
        if maybe_unspoken and not provoked:
            # It is asked in another dialect before anybody is blamed. That may be as vain, and does not excuse others.
            if self.circuit.is_open:
                self.circuit.completed(answered=False)
            return FailedAttempt(answer.status, said, full, transient=False, unspoken=True)
        # A model that is an object of the user's program is not an endpoint to them.
        own = OBJECT_FAILED.search(said)
        said = f"the upstream endpoint {self.url} answered with status {answer.status}: {said}"
        failure = FailedAttempt(
            status=answer.status,
            message=lenient_json(f'"{own[0]}"', own[0]) if own else said,
            answer=full,
            asked=retry_after(answer.headers),
            transient=again,
            provoked=provoked,
        )
        self._count(request, failure)
        return failure

    async def _is_provoked(self, request: ProxiedRequest, status: int, exchange: RecordedExchange) -> bool:
        """Return whether the endpoint answers a plain request in place of a refused one.

        If the status blames the request anyway, the answer only shows that the endpoint works, and one is enough.
        """
        if not request.model:
            return False
        if status not in PLAINLY_ASKED:
            if cause_of_status(status, others_answered=False) != "request":
                return False
            if self.circuit.answered or self._plain.answered:
                return True
        return is_answer(await self._plain_status(request, exchange))

    async def _plain_status(self, request: ProxiedRequest, exchange: RecordedExchange) -> int:
        """Return the status of the answer to a plain request; a wait for its turn is not counted as the agent's."""
        would_wait = self.pace.is_full(_plain(request.model, request.spoken).tokens)
        with exchange.held() if would_wait else nullcontext():
            return await self._plain.status(request.model, request.spoken)

    def _fail(self, request: ProxiedRequest, writer: ResponseWriter, error: Exception) -> FailedAttempt | None:
        silent = isinstance(error, TimeoutError)
        happened = f"did not answer in time ({error})" if silent else f"failed: {type(error).__name__}: {error}"
        message = self.redactor().whole(f"the upstream endpoint {self.url} {happened}".encode()).decode()
        # A request may be silent for all the time that its trial has; only a connection is worth another attempt.
        transient = not silent or isinstance(error, aiohttp.ConnectionTimeoutError)
        absent = self.circuit.answered == 0 and isinstance(error, aiohttp.ClientConnectorError)
        failure = FailedAttempt(0, message, (504 if silent else 502, [], None), transient=transient, absent=absent)
        self._count(request, failure)
        if writer.started:
            writer.exchange.failed(message, "endpoint")
            return None
        return failure

    def _count(self, request: ProxiedRequest, failure: FailedAttempt) -> None:
        """Count a failure for the circuit breaker, and remember requests that make the endpoint fail every time."""
        if blames_request(failure.status):
            self._blamed.setdefault(request.digest, self._answered_alike(request))
            if len(self._blamed) > REMEMBERED:
                del self._blamed[next(iter(self._blamed))]
        else:
            self._blamed.pop(request.digest, None)
        there = failure.status in NOT_THERE and not request.model and self.circuit.answered > 0
        cause = cause_of_status(failure.status, others_answered=there, provoked=failure.provoked)
        if cause == "request" or self._chokes(request, failure.status):
            self.circuit.completed(answered=False)
        else:
            no_credit = failure.status == 429 and not may_recover(429, failure.message)
            useless = failure.absent or no_credit or failure.status in KEY_REFUSED | NOT_THERE
            self.circuit.refused(request.digest, failure.message, asked=failure.asked, useless=useless)

    def _chokes(self, request: ProxiedRequest, status: int) -> bool:
        """Return whether a working endpoint fails because of a broken call that the model itself made."""
        return status == 500 and self.circuit.answered > 0 and repeats_a_broken_call(request.read)

    def _answered_alike(self, request: ProxiedRequest) -> int:
        """Return how many requests were answered that are at least as far in their conversations.

        An endpoint may fail at every second turn: answers to first turns prove nothing then.
        """
        return self._continued if request.read.is_continued else self.circuit.answered

    def _others_answered(self, request: ProxiedRequest, status: int) -> bool:
        if self._chokes(request, status):
            return True
        if status in NOT_THERE:
            return not request.model and self.circuit.answered > 0
        answered = self._answered_alike(request)
        return answered > self._blamed.get(request.digest, answered)

    async def _give_up(self, request: ProxiedRequest, writer: ResponseWriter, failure: FailedAttempt) -> None:
        others = self._others_answered(request, failure.status)
        cause = cause_of_status(failure.status, others_answered=others, provoked=failure.provoked) or "endpoint"
        writer.exchange.provoked = failure.provoked
        status, headers, body = failure.answer
        if body is None:
            raise Refused(failure.message, status, kind="upstream_error", cause=cause)
        if self._policy.patience and (cause == "endpoint" or status in TRANSIENT):
            headers = [header for header in headers if header[0] != FINAL[0]] + [FINAL]
        writer.exchange.failed(failure.message, cause)
        await writer.start(status, headers)
        await writer.finish(body)


@dataclass
class Upstreams:
    """The endpoints of a server.

    Attributes:
        each: the first serves requests without a trial, and trials that name no endpoint.
    """

    each: Sequence[Upstream]

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of all endpoints."""
        return tuple(upstream.url for upstream in self.each)

    def at(self, url: str | None) -> Upstream | None:
        """Return the endpoint at an address, the first one by default; None if the address is unknown."""
        if url is None:
            return next(iter(self.each), None)
        return next((upstream for upstream in self.each if upstream.url == url.rstrip("/")), None)

    def status(self) -> EndpointStatus:
        """Return the condition of the endpoint that works least, and what waits at all of them.

        Answers of the others would hide its failure.
        """
        found = [upstream.status() for upstream in self.each] or [EndpointStatus()]
        worst = max(found, key=lambda one: (get_args(CircuitState).index(one.state), one.waiting, one.held))
        limits = [one.at_a_time for one in found if one.at_a_time is not None]
        return EndpointStatus(
            state=worst.state,
            answered=worst.answered,
            reason=worst.reason,
            waiting=sum(one.waiting for one in found),
            held=sum(one.held for one in found),
            at_a_time=min(limits, default=None),
        )
