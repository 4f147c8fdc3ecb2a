"""Which distributions hold a framework's adapter, and which the framework itself."""

from __future__ import annotations

PACKAGES = {
    "agno": ("agno",),
    "autogen": ("autogen-agentchat", "autogen-core", "autogen-ext"),
    "crewai": ("crewai",),
    "langgraph": ("langgraph",),
    "openai-agents": ("openai-agents",),
}
"""Framework -> its own distributions, which are released together; the first one names its version."""

KNOWN = tuple(PACKAGES)
"""Frameworks whose adapters are published with Trialbed."""


def adapter_distribution(name: str) -> str:
    """The distribution of a framework's adapter where nothing else is said."""
    return f"trialbed-{name}"


def framework_packages(name: str) -> tuple[str, ...]:
    """The distributions that a release of the framework pins."""
    return PACKAGES.get(name, (name,))
