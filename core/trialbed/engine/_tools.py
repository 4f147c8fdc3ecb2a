"""The selector of a run, and the tools that it offers for each query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from trialbed.contracts import SelectionFactory, ToolSelector
from trialbed.drivers import load_driver
from trialbed.engine._helpers import HelperModels
from trialbed.engine._models import with_endpoint
from trialbed.errors import UsageError
from trialbed.records import (
    Api,
    Query,
    Run,
    ToolSpec,
)
from trialbed.settings import RunSettings
from trialbed.store import Store


def selector_driver(settings: RunSettings) -> type[ToolSelector]:
    """Return the class of the selector that the settings name.

    Raises:
        DriverError: it is not installed, or cannot be loaded.
        UsageError: it asks a model, and none is named.
    """
    driver = cast("type[ToolSelector]", load_driver("selectors", settings.selector))
    if driver.needs_model and settings.selector_model is None:
        raise UsageError(f"--selector {settings.selector} asks a model: give its name as --selector-model")
    return driver


def prepared_selector(
    settings: RunSettings, helpers: HelperModels, apis: Sequence[Api], *, own: ToolSelector | None = None
) -> ToolSelector:
    """Return the selector with the models that it may ask, once it has learnt a catalog.

    Args:
        own: the selector, where it is an object; None for the driver that the settings name.
    """
    selector = own or selector_driver(settings)()
    model, embedding = helpers.selector(), helpers.embedding()
    if model is not None:
        selector.model = model
    if embedding is not None:
        selector.embedding = embedding
        selector.embedding_budget = helpers.budget("selector", embedding.model, embedding.base_url)
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


AT_ONCE = 500
"""Queries whose tools are kept in one transaction."""

OpenSelector = Callable[[Sequence[Api]], ToolSelector]
"""Makes a selector and has it learn a catalog."""

Offers = Mapping[int | None, Mapping[int | str, tuple[ToolSpec, ...]]]
"""The most tools that are offered, None for as many as the run says -> query -> those that are offered."""


async def select_tools(
    run: Run, apis: Callable[[], Sequence[Api]], queries: Sequence[Query], store: Store, open_selector: OpenSelector
) -> Offers:
    """Return the tools of a run for each query: the stored ones, else those that the run's selector chooses now.

    Args:
        apis: gives the catalog.
        open_selector: makes the selector when it has something to choose.
    """
    return await asyncio.to_thread(_select, run, apis, queries, store, open_selector)


def select_for(query: Query, apis: Sequence[Api], open_selector: OpenSelector, max_tools: int) -> tuple[ToolSpec, ...]:
    """Return the tools that a selector chooses for a query."""
    selector = open_selector(apis)
    stage = cast("SelectionFactory", load_driver("components", "selection").open_selection)(apis)
    tools: tuple[ToolSpec, ...] = stage.tools(query, selector, max_tools=max_tools)
    return tools


def _select(
    run: Run, apis: Callable[[], Sequence[Api]], queries: Sequence[Query], store: Store, open_selector: OpenSelector
) -> Offers:
    run_id, config = run.run_id, run.config
    limits = dict.fromkeys(map(config.own_limit, config.frameworks))
    ids = [query.query_id for query in queries]
    found = {most: store.selections(run_id, ids, most) for most in limits}
    missing = {most: [query for query in queries if query.query_id not in own] for most, own in found.items()}
    if any(missing.values()):
        catalog = apis()
        selector = open_selector(catalog)
        stage = cast("SelectionFactory", load_driver("components", "selection").open_selection)(catalog)
        for most, left in missing.items():
            for first in range(0, len(left), AT_ONCE):
                chosen: dict[int | str, tuple[ToolSpec, ...]] = {}
                try:
                    for query in left[first : first + AT_ONCE]:
                        chosen[query.query_id] = stage.tools(query, selector, max_tools=most or config.max_tools)
                finally:  # a choice may have cost money
                    store.add_selections(run_id, config.selector, chosen, most)
                # Another process may have been faster: its selections count.
                found[most] |= store.selections(run_id, list(chosen), most)
    return {most: {query_id: own[query_id] for query_id in ids} for most, own in found.items()}
