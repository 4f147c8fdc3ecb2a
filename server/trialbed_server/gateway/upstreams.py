"""The endpoints of a server's models, of which each trial has one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self, get_args

from trialbed.records import CircuitState, EndpointStatus
from trialbed_server.gateway.upstream import Upstream


class Upstreams:
    """An async context manager over the endpoints of a server.

    Args:
        each: the first is that of requests that belong to no trial, and of trials that name none.
    """

    def __init__(self, each: Sequence[Upstream]) -> None:
        self._each = each
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for upstream in self._each:
            await self._stack.enter_async_context(upstream)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def urls(self) -> tuple[str, ...]:
        """Their addresses; empty where the server has none."""
        return tuple(upstream.url for upstream in self._each)

    def at(self, url: str | None) -> Upstream | None:
        """Return the endpoint at an address, the first one where none is named; None where it is not the server's."""
        if url is None:
            return next(iter(self._each), None)
        return next((upstream for upstream in self._each if upstream.url == url.rstrip("/")), None)

    @property
    def state(self) -> CircuitState:
        """The state of the one that works least."""
        return max((upstream.circuit.state for upstream in self._each), key=_STATES.index, default="closed")

    def status(self) -> EndpointStatus:
        """Return whether they work: the state, the failure and the answers of the worst, and what waits at all.

        Answers of the others would hide that it gives none.
        """
        found = [upstream.status() for upstream in self._each]
        if not found:
            return EndpointStatus()
        worst = max(found, key=lambda one: (_STATES.index(one.state), one.waiting, one.held))
        limits = [one.at_a_time for one in found if one.at_a_time is not None]
        return EndpointStatus(
            state=worst.state,
            answered=worst.answered,
            reason=worst.reason,
            waiting=sum(one.waiting for one in found),
            held=sum(one.held for one in found),
            at_a_time=min(limits, default=None),
        )


_STATES: tuple[CircuitState, ...] = get_args(CircuitState)
