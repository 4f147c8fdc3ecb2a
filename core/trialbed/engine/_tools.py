"""The tools of every query of a run, and its gold calls under their names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from trialbed.contracts import SelectionFactory, ToolSelector
from trialbed.drivers import load_driver
from trialbed.records import (
    Api,
    ApiRef,
    GoldCall,
    Json,
    Query,
    Run,
    ScriptedCall,
    ToolSpec,
    json_type,
    usable_default,
)
from trialbed.store import Store

OpenSelector = Callable[[Sequence[Api]], ToolSelector]
"""Makes a selector and has it learn a catalog."""


async def select_tools(
    run: Run, apis: Callable[[], Sequence[Api]], queries: Sequence[Query], store: Store, open_selector: OpenSelector
) -> dict[int | str, tuple[ToolSpec, ...]]:
    """``query_id -> tools`` for the run: what is stored, else what the run's selector chooses now.

    Args:
        apis: gives the catalog.
        open_selector: makes the selector when it has something to choose.
    """
    return await asyncio.to_thread(_select, run, apis, queries, store, open_selector)


def _select(
    run: Run, apis: Callable[[], Sequence[Api]], queries: Sequence[Query], store: Store, open_selector: OpenSelector
) -> dict[int | str, tuple[ToolSpec, ...]]:
    stored = {query.query_id: store.selection(run.run_id, query.query_id) for query in queries}
    missing = [query for query in queries if stored[query.query_id] is None]
    if missing:
        catalog = apis()
        selector = open_selector(catalog)
        stage = cast("SelectionFactory", load_driver("components", "selection").open_selection)(catalog)
        for query in missing:
            tools = stage.tools(query, selector, max_tools=run.config.max_tools)
            store.add_selection(run.run_id, query.query_id, run.config.selector, tools)
    return {query_id: tools or store.selection(run.run_id, query_id) or () for query_id, tools in stored.items()}


EXAMPLES: dict[str, Json] = {
    "string": "example",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


def gold_script(query: Query, tools: Sequence[ToolSpec]) -> tuple[ScriptedCall, ...]:
    """The query's gold calls under the tools' names; a gold Api that is not offered cannot be called and is left out.

    Arguments are the dataset's where it has them; else each required parameter's default if it is a value
    of its type, else an example of the type.
    """
    names = {tool.api: tool.name for tool in tools}
    apis = {api.ref: api for api in query.apis}
    return tuple(
        ScriptedCall(name=names[call.api], arguments=_arguments(call, apis))
        for call in query.gold_calls
        if call.api in names
    )


def complete_gold_calls(query: Query) -> tuple[GoldCall, ...]:
    """The query's gold calls with arguments, as ``gold_script`` chooses them."""
    apis = {api.ref: api for api in query.apis}
    return tuple(GoldCall(api=call.api, arguments=_arguments(call, apis)) for call in query.gold_calls)


def _arguments(call: GoldCall, apis: dict[ApiRef, Api]) -> dict[str, Any]:
    if call.arguments is not None:
        return call.arguments
    api = apis.get(call.api)
    return example_arguments(api) if api else {}


def example_arguments(api: Api) -> dict[str, Json]:
    """Valid arguments for the required parameters of an Api."""
    arguments: dict[str, Json] = {}
    for parameter in api.required_parameters:
        if parameter.name in arguments:
            continue
        default = usable_default(parameter)
        example = parameter.enum[0] if parameter.enum else EXAMPLES[json_type(parameter.type)]
        arguments[parameter.name] = default if default is not None else example
    return arguments
