"""The profiles of frameworks: the ways in which their adapters set them up. Nothing of an adapter is imported.

An adapter with profiles has one entry point per profile, ``NAME:PROFILE``; any other has one, ``NAME``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import distributions
from itertools import chain

from trialbed.drivers import GROUPS, list_drivers
from trialbed.environments._frameworks import FIRST_PARTY, adapter_info
from trialbed.environments._installed import package_folders
from trialbed.errors import UsageError
from trialbed.records import CONTROLLED, NATIVE, Environment, framework_name, framework_profile, with_profile
from trialbed.suggestions import closest, did_you_mean

PUBLISHED = {
    "agno": (CONTROLLED, "messages", NATIVE, "responses"),
    "autogen": (CONTROLLED, "messages", NATIVE),
    "crewai": (CONTROLLED, "messages", NATIVE, "responses"),
    "langgraph": (CONTROLLED, "messages", NATIVE, "responses"),
    "openai-agents": ("chat-completions", CONTROLLED, NATIVE),
    "pydantic-ai": (CONTROLLED, NATIVE),
}
"""The profiles of adapters that are published with Trialbed and have more than ``controlled`` and ``native``."""


def profiles_of(name: str, environment: Environment | None = None) -> tuple[str, ...]:
    """The profiles of a framework, by name; empty if its adapter has none.

    Args:
        environment: the framework's own; None for this interpreter.
    """
    found = {framework_profile(entry) for entry in _entry_names(environment) if framework_name(entry) == name}
    return tuple(sorted(profile for profile in found if profile is not None))


def known_profiles(name: str) -> tuple[str, ...]:
    """The profiles of a framework, as installed here or, if none is, as published with Trialbed."""
    here = profiles_of(name)
    absent = name in FIRST_PARTY and not any(framework_name(entry) == name for entry in _entry_names(None))
    return PUBLISHED.get(name, (CONTROLLED, NATIVE)) if absent else here


def expand_profiles(
    frameworks: Sequence[str], wanted: Sequence[str], environments: Mapping[str, Environment]
) -> dict[str, str]:
    """The labels of a run: each framework as asked for with its profile, or once for each profile that is wanted.

    A framework that names a profile keeps it, and one without profiles keeps its name.

    Args:
        frameworks: ``NAME[:PROFILE][==VERSION]`` each.
        wanted: profiles of the frameworks that name none; empty for ``native``.
        environments: framework as asked for -> its own environment; this interpreter for the others.

    Returns:
        label in the run -> framework as asked for.

    Raises:
        UsageError: an adapter does not have the profile that is asked for.
        DriverNotFound: it is not installed.
    """
    labels: dict[str, str] = {}
    for asked in frameworks:
        for label in _labels(asked, wanted, environments.get(asked)):
            labels.setdefault(label, asked)
    return labels


def check_wanted(labels: Iterable[str], wanted: Sequence[str]) -> None:
    """Refuse a profile that no framework of the run has, and no other that is known here.

    Frameworks without profiles keep their names whatever profiles are wanted, so that nothing else refuses it.

    Args:
        labels: of the run's frameworks.

    Raises:
        UsageError: there is no such profile; suggests one.
    """
    entries = (*labels, *_entry_names(None))
    known = {profile for entry in entries if (profile := framework_profile(entry)) is not None}
    known |= {CONTROLLED, NATIVE, *chain.from_iterable(PUBLISHED.values())}
    for profile in wanted:
        if profile not in known:
            close, names = did_you_mean(closest(profile, known)), ", ".join(sorted(known))
            raise UsageError(f"--profile: unknown profile {profile!r}{close} The profiles are {names}")


def _labels(asked: str, wanted: Sequence[str], environment: Environment | None) -> list[str]:
    name, profile = framework_name(asked), framework_profile(asked)
    if environment is None:
        adapter_info(name)
    there = profiles_of(name, environment)
    if profile is None and not there:
        return [asked]
    chosen = [profile] if profile is not None else [*wanted] or [NATIVE if NATIVE in there else there[0]]
    for one in chosen:
        if one not in there:
            raise UsageError(_unknown(asked, one, there))
    return [with_profile(asked, one) for one in chosen]


def _unknown(asked: str, profile: str, there: Sequence[str]) -> str:
    if not there:
        return f"{asked}: {framework_name(asked)} has no profiles; write it without {':' + profile!r}"
    return (
        f"{asked}: unknown profile {profile!r}{did_you_mean(closest(profile, there))} "
        f"The profiles of {framework_name(asked)} are {', '.join(there)}"
    )


def _entry_names(environment: Environment | None) -> set[str]:
    if environment is None:
        return {driver.name for driver in list_drivers("frameworks")}
    installed = distributions(path=[str(place) for place in package_folders(environment.python)])
    return {entry.name for item in installed for entry in item.entry_points if entry.group == GROUPS["frameworks"]}
