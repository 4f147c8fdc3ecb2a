"""Make the calls of a script with the tools that a request offers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trialbed.records import FilledArgument, LossReason, LostCall, ScriptedCall, ToolSpec
from trialbed.wire import Call, OfferedTool
from trialbed.wire.offers import Offers
from trialbed_scripted.policies._ending import is_finish
from trialbed_scripted.policies._fitting import Inexpressible, fit
from trialbed_scripted.schemas import first_problem, minimal_arguments, spend, wrong_arguments

UNKNOWN = "tool_that_is_not_offered"

SHOWN = 5
"""Most names that a reason lists."""


class Lost(Exception):
    """A call cannot be made."""

    def __init__(self, record: LostCall) -> None:
        super().__init__(record)
        self.record = record


@dataclass(frozen=True)
class PlannedCall:
    """A call in the form that the model sends.

    Attributes:
        position: its position in the script; None for other calls.
        filled: the arguments that had to be made up.
    """

    call: Call
    position: int | None = None
    filled: tuple[FilledArgument, ...] = ()

    def cut(self) -> PlannedCall:
        """Return this call without the last character of its arguments."""
        return replace(self, call=replace(self.call, arguments=self.call.arguments[:-1]))


class Tools:
    """A trial's tools in the form that a request offers them.

    Args:
        tools: the tools of the trial.
        functions: the offered functions; empty if the request does not allow calls.
        allowed: the names of the functions that may be called; None for all.
    """

    def __init__(
        self, tools: Sequence[ToolSpec], functions: Iterable[OfferedTool], allowed: Collection[str] | None = None
    ) -> None:
        self._allowed = allowed
        self._offers = Offers(tools, functions)
        self._own = {tool.name: tool.parameters for tool in tools}
        foreign = self._offers.functions.keys() - self._own.keys()
        spend(len(foreign) * len(tools) // 20)

    def right(self, position: int, call: ScriptedCall) -> PlannedCall:
        """Make a call of the script. Missing arguments of an agent's own tool get example values.

        Raises:
            Lost: it cannot be made.
        """
        offered, arguments = self._find(position, call.name), call.arguments
        # Only the request contains the schema of an agent's own tool.
        if call.name not in self._own and first_problem(offered.parameters, arguments):
            arguments = {**minimal_arguments(offered.parameters), **arguments}
        return self._plan(position, call.name, arguments, offered)

    def wrong(self, position: int, call: ScriptedCall) -> PlannedCall:
        """Make a call of the script with arguments that violate the tool's own schema, which the API checks.

        Raises:
            Lost: the right call cannot be made.
        """
        offered = self._find(position, call.name)
        right = self._plan(position, call.name, call.arguments, offered)
        wrong = wrong_arguments(call.arguments, self._schema(call.name, offered))
        try:
            return self._plan(position, call.name, wrong, offered)
        except Lost:
            return replace(right, call=Call(offered.name, _text(wrong)))

    def other(self, names: Iterable[str]) -> PlannedCall | None:
        """Return a call to the first tool of the trial outside these names that can be called, if there is one."""
        excluded = set(names)
        own = [(name, self._offers.function(name)) for name in self._own if name not in excluded]
        taken = {function.name for name in excluded if (function := self._offers.function(name)) is not None}
        # Calling a finish tool would end the trial.
        foreign = [
            (name, offered)
            for name, offered in self._offers.functions.items()
            if name not in taken and not is_finish(name)
        ]
        for name, offered in own if any(function for _, function in own) else foreign:
            if offered is not None and self._allows(offered):
                try:
                    return self._plan(None, name, minimal_arguments(self._schema(name, offered)), offered)
                except Lost:
                    continue
        return None

    def unknown(self) -> PlannedCall:
        """Return a call to a tool that is not offered.

        Raises:
            Lost: calls are not allowed.
        """
        if not self._offers.functions:
            raise Lost(LostCall(position=0, tool=UNKNOWN, reason="no tools"))
        name = UNKNOWN
        while name in self._offers.functions:
            name += "_"
        return PlannedCall(Call(name, "{}"))

    def _allows(self, offered: OfferedTool) -> bool:
        return self._allowed is None or offered.name in self._allowed

    def _schema(self, tool: str, offered: OfferedTool) -> Any:
        return self._own.get(tool, offered.parameters)

    def _find(self, position: int, tool: str) -> OfferedTool:
        offered = self._offers.function(tool)
        if offered is not None and self._allows(offered):
            return offered
        reason: LossReason = "not offered"
        count = len(self._offers.functions)
        detail = f"the request offers {count} function{'s' * (count != 1)}, and none stands for it"
        if not self._offers.functions:
            reason, detail = "no tools", "the request offers no tools"
        elif offered is not None:
            detail = f"the request does not allow {offered.name} to be called"
        elif several := self._offers.might_be(tool):
            reason, detail = "ambiguous", f"any of these might stand for it: {', '.join(several[:SHOWN])}"
        raise Lost(LostCall(position=position, tool=tool, reason=reason, detail=detail))

    def _plan(self, position: int | None, tool: str, arguments: Any, offered: OfferedTool) -> PlannedCall:
        try:
            fitted = fit(arguments, self._schema(tool, offered), offered.parameters)
        except Inexpressible as error:
            raise Lost(LostCall(position=position or 0, tool=tool, reason="arguments", detail=str(error))) from error
        filled = tuple(
            FilledArgument(position=position, tool=tool, argument=path, value=value)
            for path, value in fitted.filled.items()
        )
        return PlannedCall(Call(offered.name, _text(fitted.arguments)), position, filled)


_text = json.JSONEncoder(ensure_ascii=False).encode
