"""Which distributions hold a framework's adapter, and which the framework itself."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

PACKAGES = {
    "agno": ("agno",),
    "autogen": ("autogen-agentchat", "autogen-core", "autogen-ext"),
    "crewai": ("crewai",),
    "langgraph": ("langgraph",),
    "openai-agents": ("openai-agents",),
}
"""Framework -> its own distributions, which are released together; the first one names its version."""

COMPANIONS = {"langgraph": (("<1.1.5", "langgraph-prebuilt<1.0.9"),)}
"""Framework -> releases, and what those need beside them: what they require themselves lets newer packages in that
cannot be imported with them."""

KNOWN = tuple(PACKAGES)
"""Frameworks whose adapters are published with Trialbed."""


def adapter_distribution(name: str) -> str:
    """The distribution of a framework's adapter where nothing else is said."""
    return f"trialbed-{name}"


def framework_packages(name: str) -> tuple[str, ...]:
    """The distributions that a release of the framework pins."""
    return PACKAGES.get(name, (name,))


def release_pins(name: str, release: str) -> tuple[str, ...]:
    """The requirements that a release of the framework stands for."""
    pins = tuple(f"{package}=={release}" for package in framework_packages(name))
    needed = [line for releases, line in COMPANIONS.get(name, ()) if SpecifierSet(releases).contains(release, True)]
    return (*pins, *needed)
