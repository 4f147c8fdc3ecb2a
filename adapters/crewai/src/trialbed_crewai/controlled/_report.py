"""CrewAI's own report of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.llm_events import LLMCallCompletedEvent
from crewai.events.types.tool_usage_events import ToolUsageFinishedEvent

from trialbed import Answer, ApiRef, ClaimedCall, Usage, finish_of
from trialbed_crewai.controlled._names import ToolNames
from trialbed_crewai.controlled._tools import strip_number


class RunReport:
    """Listens to the events of one agent while it is entered.

    Args:
        agent_id: of the agent.
    """

    def __init__(self, agent_id: str) -> None:
        self._agent_id = agent_id
        self._turns: list[LLMCallCompletedEvent] = []
        self._uses: list[ToolUsageFinishedEvent] = []

    def __enter__(self) -> Self:
        crewai_event_bus.on(LLMCallCompletedEvent)(self._on_answer)
        crewai_event_bus.on(ToolUsageFinishedEvent)(self._on_use)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        crewai_event_bus.flush()
        crewai_event_bus.off(LLMCallCompletedEvent, self._on_answer)
        crewai_event_bus.off(ToolUsageFinishedEvent, self._on_use)

    def answer(self, text: str, usage: Any, names: ToolNames, apis: Mapping[str, ApiRef]) -> Answer:
        """The answer that the run gives.

        Args:
            text: CrewAI's output; empty where the run was ended.
            usage: CrewAI's metrics.
            apis: tool name -> Api.
        """
        return Answer(
            final_answer=text if text.strip() else "",
            calls=tuple(self._calls(names, apis)),
            finish=finish_of(text),
            usage=_usage(usage),
            model_turns=len(self._turns),
        )

    def _calls(self, names: ToolNames, apis: Mapping[str, ApiRef]) -> Iterator[ClaimedCall]:
        for use in sorted(self._uses, key=lambda use: use.started_at):
            name = names.outer(use.tool_name)
            if name is not None:
                response = strip_number(str(use.output))
                yield ClaimedCall(name=name, api=apis[name], arguments=use.tool_args, response=response)

    def _on_answer(self, source: Any, event: LLMCallCompletedEvent) -> None:  # noqa: ARG002 - CrewAI's names
        if event.agent_id == self._agent_id:
            self._turns.append(event)

    def _on_use(self, source: Any, event: ToolUsageFinishedEvent) -> None:  # noqa: ARG002 - CrewAI's names
        if event.agent_id == self._agent_id:
            self._uses.append(event)


def _usage(metrics: Any) -> Usage | None:
    """The run's tokens; None where CrewAI counted none, as it does for a model that reports none."""
    if not (metrics.prompt_tokens or metrics.completion_tokens):
        return None
    return Usage(prompt_tokens=metrics.prompt_tokens, completion_tokens=metrics.completion_tokens)
