"""A scripted model as the gateway plays it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbed_server._clock import Clock
from trialbed_server.gateway.outlet import EVENTS_TYPE, Outlet
from trialbed_server.gateway.scripted.completions import Completion
from trialbed_server.gateway.scripted.policies import POLICIES
from trialbed_server.gateway.scripted.turns import Scene, Turn
from trialbed_server.gateway.scripted.usage import estimated_usage
from trialbed_server.trials import Trial

PREFIX = "scripted:"

SLOW_FIRST = 0.5
"""Seconds before the first byte of ``scripted:slow``."""

SLOW_CHUNK = 0.02
"""Seconds between the chunks of its streams."""


def is_scripted(model: str) -> bool:
    """Whether a model name is a scripted model's."""
    return model.startswith(PREFIX)


def unknown_policy(model: str) -> str | None:
    """What is wrong with a scripted model's name; None if nothing is."""
    policy = model.removeprefix(PREFIX)
    return None if policy in POLICIES else f"there is no policy {policy!r}; choose one of {', '.join(POLICIES)}"


class ScriptedModel:
    """Plays a trial's policy; knows nothing but its script and the conversation it is sent."""

    def __init__(self, trial: Trial, clock: Clock) -> None:
        registration = trial.registration
        self._trial = trial
        self._clock = clock
        self._policy = registration.model.removeprefix(PREFIX)
        self._schemas = {tool.name: tool.parameters for tool in registration.tools}

    async def complete(self, request: Mapping[str, Any], index: int, outlet: Outlet) -> None:
        """Answer one chat completion request, the ``index``-th of the trial."""
        messages = request.get("messages")
        if not isinstance(messages, list):
            await outlet.error("'messages' must be a list", 400, "invalid_request_error")
            return
        slow = self._policy == "slow"
        completion = Completion(
            identity=f"{self._trial.registration.trial}#{index}",
            created=int(self._trial.opened_at.timestamp()),
            model=self._trial.registration.model,
            turn=self._turn(request, messages),
        )
        await self._clock.sleep(SLOW_FIRST if slow else 0)
        usage = estimated_usage(request, completion.message())
        if not request.get("stream"):
            await outlet.document(completion.document(usage))
            return
        await outlet.start(200, [EVENTS_TYPE, (b"cache-control", b"no-cache")])
        for event in completion.events(usage if _wants_usage(request) else None):
            await outlet.write(event)
            await self._clock.sleep(SLOW_CHUNK if slow else 0)
        await outlet.finish()

    def _turn(self, request: Mapping[str, Any], messages: list[Any]) -> Turn:
        scene = Scene(self._trial.registration.script, self._offered(request), messages)
        turn = POLICIES[self._policy](scene)
        # Like a real model: no tool calls where the request allows none.
        return turn if scene.offered or not turn.calls else POLICIES["gold"](Scene((), {}, messages))

    def _offered(self, request: Mapping[str, Any]) -> dict[str, Any]:
        # The trial's own schema counts where there is one: it is what the virtual API checks against.
        if request.get("tool_choice") == "none":
            return {}
        functions = [tool["function"] for tool in request.get("tools") or () if _is_function(tool)]
        return {f["name"]: self._schemas.get(f["name"], f.get("parameters") or {}) for f in functions}


def _is_function(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function"), dict) and "name" in tool["function"]


def _wants_usage(request: Mapping[str, Any]) -> bool:
    options = request.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))
