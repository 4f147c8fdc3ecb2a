"""The selection of every query, made once and kept, so that all frameworks of a run see the same list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from trialbed.contracts import Dataset, SelectionFactory, ToolSelector
from trialbed.drivers import load_driver
from trialbed.records import Query, Run, ToolSpec
from trialbed.store import Store


async def select_tools(
    run: Run, dataset: Dataset, queries: Sequence[Query], store: Store
) -> dict[int | str, tuple[ToolSpec, ...]]:
    """``query_id -> tools`` for the run: what is stored, else what the run's selector chooses now."""
    return await asyncio.to_thread(_select, run, dataset, queries, store)


def _select(
    run: Run, dataset: Dataset, queries: Sequence[Query], store: Store
) -> dict[int | str, tuple[ToolSpec, ...]]:
    stored = {query.query_id: store.selection(run.run_id, query.query_id) for query in queries}
    missing = [query for query in queries if stored[query.query_id] is None]
    if missing:
        apis = dataset.apis()
        selector = cast("ToolSelector", load_driver("selectors", run.config.selector)())
        selector.prepare(apis)
        stage = cast("SelectionFactory", load_driver("components", "selection").open_selection)(apis)
        for query in missing:
            tools = stage.tools(query, selector, max_tools=run.config.max_tools)
            store.add_selection(run.run_id, query.query_id, run.config.selector, tools)
    return {query_id: tools or store.selection(run.run_id, query_id) or () for query_id, tools in stored.items()}
