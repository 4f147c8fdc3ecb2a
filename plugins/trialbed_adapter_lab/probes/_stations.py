"""Plain tools of one kind, whose schemas any framework can handle, and policies that call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trialbed.records import Api, Parameter, ScriptedCall, ToolSpec
from trialbed_adapter_lab.harness import ObservedRequest, ScriptedTool, echo
from trialbed_scripted import Line, ModelTurn
from trialbed_scripted.policies import PolicyModel, TextHistories, estimate_usage

QUERY = "Report on the stations that matter today, and say what each of them measured."

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

Script = tuple[ScriptedCall, ...]


def stations(tools: int, calls: int) -> tuple[list[ScriptedTool], Script]:
    """Return tools, and calls of them, each of another tool and spread over all."""
    offered = [_station(number) for number in range(tools)]
    chosen = [offered[index * (tools - 1) // max(1, calls - 1)] for index in range(calls)]
    script = (
        ScriptedCall(name=item.name, arguments={"instrument": f"gauge-{number}", "day": "Wed"})
        for number, item in enumerate(chosen)
    )
    return offered, tuple(script)


def play(policy: str, tools: Sequence[ScriptedTool], script: Script, turns: int) -> list[Line]:
    """Return the lines of a policy in one trial."""
    model, histories = PolicyModel(policy, script, [item.spec for item in tools]), TextHistories()

    def take_turn(request: ObservedRequest) -> ModelTurn:
        turn = model.turn(request.request, histories)
        return replace(turn, usage=estimate_usage(request.request, turn.answer(), request.spoken))

    return [take_turn] * turns


def _station(number: int) -> ScriptedTool:
    api = Api(
        category="Fidelity",
        tool_name=f"Station {number:04}",
        api_name="Report",
        description=f"What an instrument of station {number:04} measured on a day.",
        required_parameters=(
            Parameter(name="instrument", type="STRING", description="The instrument's name"),
            Parameter(name="day", type="ENUM", description="Day of the week", enum=DAYS),
        ),
        optional_parameters=(Parameter(name="limit", type="INTEGER", description="Values at most", default=10),),
    )
    schema = api.parameters_schema()
    name = f"Station_{number:04}_Report"
    return ScriptedTool(ToolSpec(name=name, description=api.description, parameters=schema, api=api.ref), echo)
