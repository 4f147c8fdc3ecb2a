"""Scripts and trials that make the expected calls of queries.

Scripted models play the calls, and a run makes them itself to know their answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from trialbed.engine._control import ControlClient, new_trial_token
from trialbed.errors import TrialbedError
from trialbed.records import (
    Api,
    ApiRef,
    GoldAnswer,
    GoldCall,
    Json,
    Query,
    ScriptedCall,
    ToolSpec,
    TrialRegistration,
    json_type,
    usable_default,
)
from trialbed.store import Store
from trialbed.tool_calls import examples_of

EXAMPLES: dict[str, Json] = {"string": "example", "number": 1, "integer": 1, "boolean": True, "array": [], "object": {}}


def gold_script(query: Query, tools: Sequence[ToolSpec]) -> tuple[ScriptedCall, ...]:
    """Return the query's expected calls under the tools' names, without Apis that are not offered.

    Arguments are the dataset's, if it has them. Otherwise each required parameter gets its default, if that is a value
    of its type, or an example of the type.
    """
    names = {tool.api: tool.name for tool in tools}
    apis = {api.ref: api for api in query.apis}
    names |= {api: api.api_name for api in query.own_tools}
    return tuple(
        ScriptedCall(name=names[call.api], arguments=_arguments(call, apis))
        for call in query.gold_calls
        if call.api in names
    )


def _arguments(call: GoldCall, apis: dict[ApiRef, Api]) -> dict[str, Any]:
    api = apis.get(call.api)
    usual = example_arguments(api) if api else {}
    if call.arguments is None:
        return usual
    return {name: value for name, value in usual.items() if name in call.arguments} | examples_of(call.arguments)


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


MODEL = "scripted:none"
"""The model of trials that make expected calls; it is asked nothing."""


async def make_gold_calls(
    store: Store,
    run_id: str,
    control: ControlClient,
    simulator: str,
    queries: Iterable[Query],
    *,
    concurrency: int,
    note: Callable[[str], None],
) -> None:
    """Make the expected calls that a run has no answers for, each query in its own trial, and store the answers.

    If a query's calls do not reach the server, the user is shown the reason and the run goes on.

    Args:
        simulator: answers for the Apis, as in the run's trials.
        concurrency: how many queries run at a time; the calls of one query are made in order.
        note: shows a line to the user.
    """
    known = await asyncio.to_thread(store.gold_answers, run_id)
    slots = asyncio.Semaphore(concurrency)

    async def make(query: Query) -> None:
        async with slots:
            try:
                answer = await _answer(query, control, simulator)
            except TrialbedError as error:
                note(f"the expected calls of task {query.query_id!r} were not made: {error}")
                return
        await asyncio.to_thread(store.add_gold_answer, run_id, answer)

    async with asyncio.TaskGroup() as group:
        for query in queries:
            if query.gold_calls and query.query_id not in known and not query.own_tools:
                group.create_task(make(query))


async def _answer(query: Query, control: ControlClient, simulator: str) -> GoldAnswer:
    trial, apis = new_trial_token(), {api.ref: api for api in query.apis}
    await control.open_trial(TrialRegistration(trial=trial, model=MODEL, apis=query.apis, simulator=simulator))
    try:
        began = time.perf_counter()
        for call in query.gold_calls:
            await control.call_api(trial, GoldCall(api=call.api, arguments=_arguments(call, apis)))
        seconds = time.perf_counter() - began
    finally:
        wire = await control.close_trial(trial)
    return GoldAnswer(query_id=query.query_id, seconds=seconds, calls=wire.api_calls)
