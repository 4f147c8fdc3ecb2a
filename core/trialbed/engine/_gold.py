"""The expected calls of queries: as scripted models play them, and as a run makes them itself to know their answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
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

EXAMPLES: dict[str, Json] = {
    "string": "example",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


def gold_script(query: Query, tools: Sequence[ToolSpec]) -> tuple[ScriptedCall, ...]:
    """The query's expected calls under the tools' names; one whose Api is not offered is left out.

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
    """The query's expected calls with arguments, as ``gold_script`` chooses them."""
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


MODEL = "scripted:none"
"""The model of the trials in which expected calls are made; it is asked nothing."""


class GoldCalls:
    """Makes the expected calls of queries, each in a trial of its own, and keeps what they are answered.

    Args:
        simulator: answers for the Apis, as in the run's trials.
        concurrency: how many queries at once; the calls of one query are made in order.
        note: shows a line to the user.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        control: ControlClient,
        simulator: str,
        *,
        concurrency: int,
        note: Callable[[str], None],
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._control = control
        self._simulator = simulator
        self._note = note
        self._slots = asyncio.Semaphore(concurrency)

    async def make(self, queries: Sequence[Query]) -> None:
        """Make the expected calls that the run has no answers of yet.

        A query whose calls do not reach the server has none: the user is shown why, and the run goes on.
        """
        known = await asyncio.to_thread(self._store.gold_answers, self._run_id)
        due = [query for query in queries if query.gold_calls and query.query_id not in known]
        async with asyncio.TaskGroup() as group:
            for query in due:
                group.create_task(self._keep(query))

    async def _keep(self, query: Query) -> None:
        async with self._slots:
            try:
                answer = await self._answer(query)
            except TrialbedError as error:
                self._note(f"the expected calls of query {query.query_id!r} were not made: {error}")
                return
        await asyncio.to_thread(self._store.add_gold_answer, self._run_id, answer)

    async def _answer(self, query: Query) -> GoldAnswer:
        trial = new_trial_token()
        await self._control.open_trial(
            TrialRegistration(trial=trial, model=MODEL, apis=query.apis, simulator=self._simulator)
        )
        try:
            began = time.perf_counter()
            for call in complete_gold_calls(query):
                await self._control.call_api(trial, call)
            seconds = time.perf_counter() - began
        finally:
            wire = await self._control.close_trial(trial)
        return GoldAnswer(query_id=query.query_id, seconds=seconds, calls=wire.api_calls)
