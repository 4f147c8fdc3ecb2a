"""Trials of the embedded queries, played by scripted models through a loop that changes nothing, without a server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from support.scoring import NOON, SOLVED, api_call, model_call

from trialbed.catalogs import open_dataset
from trialbed.records import (
    Answer,
    ApiCall,
    Json,
    ModelCall,
    Outcome,
    Query,
    ScriptedCall,
    SentCall,
    Timing,
    ToolSpec,
    TrialKey,
    TrialResult,
    WireLog,
)
from trialbed.scoring import ScoreContext
from trialbed.settings import data_dir
from trialbed.wire import Call, OfferedTool
from trialbed.wire.dialects.chat_completions import read_message
from trialbed_plugins.datasets.mini import MiniSimulator
from trialbed_scripted import POLICIES
from trialbed_scripted.policies import PolicyInput, Tools

MAX_STEPS = 7
SIMULATOR = MiniSimulator()


def queries() -> tuple[Query, ...]:
    """The embedded queries."""
    return tuple(open_dataset("mini", data_dir()).queries())


@dataclass
class Played:
    """A trial as it was played."""

    query: Query
    tools: tuple[ToolSpec, ...]
    answer: str = ""
    model_calls: list[ModelCall] = field(default_factory=list)
    api_calls: list[ApiCall] = field(default_factory=list)

    @property
    def wire(self) -> WireLog:
        """What a server would have seen."""
        calls = tuple(self.model_calls), tuple(self.api_calls)
        return WireLog(trial="token", opened_at=NOON, model_calls=calls[0], api_calls=calls[1])

    @property
    def context(self) -> ScoreContext:
        """What its scores rest on."""
        said = Answer(final_answer=self.answer, calls=())
        timing = Timing(wall=1, model=0, tool=0, framework=1)
        return ScoreContext(self.query, self.tools, said, self.wire, timing, SOLVED, "rule")

    @property
    def result(self) -> TrialResult:
        """The trial as it is stored."""
        context = self.context
        return TrialResult(
            trial="token",
            key=TrialKey(framework="reference", query_id=self.query.query_id),
            seed=0,
            outcome=Outcome(started_at=NOON, wall_time=1, answer=context.answer),
            wire=context.wire,
            timing=context.timing,
            selected_tools=tuple(tool.name for tool in self.tools),
        )


async def play(policy: str, query: Query) -> Played:
    """Let a policy work on a query."""
    tools = tuple(
        ToolSpec(name=f"tool_{place}", description=api.description, parameters=api.parameters_schema(), api=api.ref)
        for place, api in enumerate(query.apis)
    )
    names = {tool.api: tool.name for tool in tools}
    script = [ScriptedCall(name=names[call.api], arguments=call.arguments or {}) for call in query.gold_calls]
    functions = [OfferedTool(tool.name, "", tool.parameters) for tool in tools]
    messages: list[Json] = [{"role": "user", "content": query.text}]
    played = Played(query, tools)
    for step in range(MAX_STEPS):
        turn = POLICIES[policy](PolicyInput(script, Tools(tools, functions), tuple(map(read_message, messages))))
        sent = [_sent(call, tools) for call in turn.calls]
        played.model_calls.append(model_call(sent=sent, started=2 * step))
        if not sent:
            played.answer = turn.text or ""
            break
        messages.append({"role": "assistant", "tool_calls": [{"id": str(n)} for n, _ in enumerate(sent)]})
        messages += [message async for message in _results(sent, played, 2 * step + 1)]
    return played


def _sent(call: Call, tools: tuple[ToolSpec, ...]) -> SentCall:
    problem = None
    if call.name not in {tool.name for tool in tools}:
        problem = "unknown tool"
    else:
        try:
            problem = None if isinstance(json.loads(call.arguments), dict) else "not an object"
        except ValueError:
            problem = "invalid json"
    return SentCall(name=call.name, arguments=call.arguments, problem=problem)


async def _results(sent: list[SentCall], played: Played, time: float) -> AsyncIterator[Json]:
    """The messages that follow the calls."""
    specs = {tool.name: tool for tool in played.tools}
    for call in sent:
        text = f"Error: {call.problem}"
        if call.problem is None:
            arguments = json.loads(call.arguments)
            found = await SIMULATOR.simulate(None, "/".join(_path(specs[call.name])), arguments)
            played.api_calls.append(
                api_call("", arguments, found.error, api=specs[call.name].api, response=found.response, started=time)
            )
            text = f"Error: {found.error}" if found.error else json.dumps(found.response)
        yield {"role": "tool", "content": text}


def _path(spec: ToolSpec) -> tuple[str, str, str]:
    return spec.api.category, spec.api.tool_name, spec.api.api_name
