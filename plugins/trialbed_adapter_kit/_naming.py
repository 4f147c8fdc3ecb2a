"""Finding the adapter that is meant."""

from __future__ import annotations

from trialbed.contracts import BaseAgent
from trialbed.worker import load_agent


def named_agent(agent: str | type[BaseAgent]) -> tuple[type[BaseAgent], dict[str, str]]:
    """An adapter's class, and the names that a report has for it.

    Args:
        agent: the name of its entry point, or the class itself.

    Raises:
        DriverError: there is no such entry point, or it cannot be loaded.
    """
    if isinstance(agent, str):
        loaded, info = load_agent(agent)
        return loaded, {"framework": info.name, "adapter": info.adapter, "adapter_version": info.adapter_version}
    return agent, {"framework": agent.__name__}
