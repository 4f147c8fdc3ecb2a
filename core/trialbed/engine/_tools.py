"""The selector of a run, and the tools that it offers for each query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from trialbed.contracts import ToolSelector
from trialbed.drivers import load_driver
from trialbed.engine._offers import RunTools, ToolsNotChosen
from trialbed.models import HelperModels, helper_endpoint, with_endpoint
from trialbed.preparation import selector_driver
from trialbed.records import (
    Api,
    Query,
    Run,
    ToolSpec,
)
from trialbed.settings import RunSettings
from trialbed.store import Store


def prepared_selector(
    settings: RunSettings, helpers: HelperModels, apis: Sequence[Api], *, own: ToolSelector | None = None
) -> ToolSelector:
    """Return the selector with the models that it may ask, once it has learnt a catalog.

    Args:
        own: the selector, where it is an object; None for the driver that the settings name.
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


async def select_tools(
    run: Run,
    apis: Callable[[], Sequence[Api]],
    queries: Mapping[int | str, Query],
    store: Store,
    open_selector: OpenSelector,
    first: int | str,
) -> RunTools:
    """Return the tools of a run: the stored ones, else those that the run's selector chooses, part by part.

    Those of the first queries are chosen at once, so that a selector which cannot choose is known before any trial.

    Args:
        apis: gives the catalog.
        open_selector: makes the selector when it has something to choose.
        first: the query of the first trial that is due.
    """
    config = run.config

    @cache
    def opened() -> tuple[ToolSelector, Any]:
        catalog = apis()
        return open_selector(catalog), load_driver("components", "selection").open_selection(catalog)

    def choose(ids: Sequence[int | str]) -> dict[int, dict[int | str, tuple[ToolSpec, ...]]]:
        found: dict[int, dict[int | str, tuple[ToolSpec, ...]]] = {}
        for most in dict.fromkeys(cell.max_tools for cell in config.cells):
            own = store.selections(run.run_id, ids, most)
            missing = [query_id for query_id in ids if query_id not in own]
            if missing:
                selector, stage = opened()
                chosen: dict[int | str, tuple[ToolSpec, ...]] = {}
                try:
                    for query_id in missing:
                        chosen[query_id] = stage.tools(queries[query_id], selector, max_tools=most)
                finally:  # a choice may have cost money
                    is_first = store.add_selections(run.run_id, chosen, most)
                # Another process may have been faster: its selections count.
                own |= chosen if is_first else store.selections(run.run_id, missing, most)
            found[most] = {query_id: own[query_id] for query_id in ids}
        return found

    tools = RunTools(choose, config.query_ids)
    try:
        await tools(config.cells[0].max_tools, first)
    except ToolsNotChosen as error:
        raise error.reason from error
    return tools
