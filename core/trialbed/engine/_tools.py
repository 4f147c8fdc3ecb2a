"""The selector of a run, and the tools that it offers for each query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from trialbed.contracts import ToolSelector
from trialbed.drivers import load_driver
from trialbed.models import HelperModels, helper_endpoint, with_endpoint
from trialbed.preparation import selector_driver
from trialbed.records import Api, Query, Run, ToolSpec
from trialbed.settings import RunSettings
from trialbed.store import Store


def prepared_selector(
    settings: RunSettings, helpers: HelperModels, apis: Sequence[Api], *, own: ToolSelector | None = None
) -> ToolSelector:
    """Return the selector with the models that it may ask, once it has learnt a catalog.

    Args:
        own: the selector, if it is an object; None takes the driver that the settings name.
    """
    selector = own or selector_driver(settings)()
    if settings.selector_model is not None:
        selector.model = helpers.access("selector", helper_endpoint(settings.selector_model, settings))
    selector.prepare(apis)
    return selector


@contextmanager
def standing_selector(settings: RunSettings, apis: Sequence[Api]) -> Iterator[ToolSelector]:
    """Yield a selector without a run, once it has learnt a catalog.

    Raises:
        UsageError, DriverError: it cannot be used; says why.
    """
    settings = with_endpoint(settings)
    selector_driver(settings)
    helpers = HelperModels(settings)
    try:
        yield prepared_selector(settings, helpers, apis)
    finally:
        helpers.close()


OpenSelector = Callable[[Sequence[Api]], ToolSelector]
"""Makes a selector and has it learn a catalog."""


class ToolsNotChosen(Exception):
    """The tools of a query could not be chosen.

    Attributes:
        reason: the error of the selector, or of the store.
    """

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


QueryId = int | str
Part = dict[int, dict[QueryId, tuple[ToolSpec, ...]]]

AT_ONCE = 500
"""Queries that get their tools chosen, read and stored together, in one transaction."""

KEPT = 4
"""Cached parts; the oldest is dropped first."""


class RunTools:
    """The tools of a run, in parts that are read when a trial of their queries begins.

    The stored ones count; others are chosen by the run's selector, and no more once that has failed.

    Args:
        apis: gives the catalog.
        open_selector: makes the selector when it has something to choose.
    """

    def __init__(
        self,
        run: Run,
        apis: Callable[[], Sequence[Api]],
        queries: Mapping[QueryId, Query],
        store: Store,
        open_selector: OpenSelector,
    ) -> None:
        self._run, self._queries, self._store = run, queries, store
        self._part_of = {query_id: place // AT_ONCE for place, query_id in enumerate(run.config.query_ids)}
        self._parts: dict[int, Part] = {}
        self._reading = asyncio.Lock()
        self._failure: Exception | None = None

        @cache
        def opened() -> tuple[ToolSelector, Any]:
            catalog = apis()
            return open_selector(catalog), load_driver("components", "selection").open_selection(catalog)

        self._opened = opened

    async def __call__(self, most: int, query_id: QueryId) -> tuple[ToolSpec, ...]:
        """Return at most this many tools for a query.

        Raises:
            ToolsNotChosen: they are not there, and choosing them failed.
        """
        number = self._part_of[query_id]
        async with self._reading:
            if number not in self._parts and self._failure is None:
                try:
                    self._parts[number] = await asyncio.to_thread(self._choose, number)
                except Exception as error:  # noqa: BLE001 - each trial that waits is told
                    self._failure = error
                for old in [*self._parts][:-KEPT]:
                    del self._parts[old]
            if self._failure is not None:
                raise ToolsNotChosen(self._failure) from self._failure
            return self._parts[number][most][query_id]

    def _choose(self, number: int) -> Part:
        config, run_id, found = self._run.config, self._run.run_id, Part()
        ids = config.query_ids[number * AT_ONCE : (number + 1) * AT_ONCE]
        for most in dict.fromkeys(cell.max_tools for cell in config.cells):
            own = self._store.selections(run_id, ids, most)
            missing = [query_id for query_id in ids if query_id not in own]
            if missing:
                selector, stage = self._opened()
                chosen: dict[QueryId, tuple[ToolSpec, ...]] = {}
                try:
                    for query_id in missing:
                        chosen[query_id] = stage.tools(self._queries[query_id], selector, max_tools=most)
                finally:  # a choice may have cost money
                    is_first = self._store.add_selections(run_id, chosen, most)
                # Another process may have been faster: its selections count.
                own |= chosen if is_first else self._store.selections(run_id, missing, most)
            found[most] = {query_id: own[query_id] for query_id in ids}
        return found
