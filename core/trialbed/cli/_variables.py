"""Finds environment variables that nothing reads, so that they would be ignored without a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import click

from trialbed.suggestions import closest

PREFIX = "TRIALBED_"

NOT_OF_OPTIONS = (
    "CONTROL_TOKEN",
    "DATA_DIR",
    "ENV_DIR",
    "INDEX_DIR",
    "MCP_URL",
    "MEMORY_LIMIT",
    "REAL_KEY",
    "SERVER_TOKEN",
    "SIMULATOR_KEY",
    "STATE_DIR",
    "TOOLS_URL",
    "UPSTREAM_KEY",
    "UPSTREAM_KEYS",
    "WEIGHTS_DIR",
    "WORKER",
    "WORKER_TRIALS",
)
"""The variables that no option has, without the prefix."""

OF_KEYS = ("KEY", "TOKEN")
"""The ends of names that users give to variables of their own, for ``--api-key-env`` and options like it."""

SIMILARITY = 0.8
"""That of a misspelt name to the one that is meant, where the name may be a user's own."""

LIKE = 0.6
"""That of any other name."""


def unknown_variables(given: Iterable[str], name: str, group: click.Group) -> Mapping[str, str | None]:
    """Return the variables that nothing reads, each with the one that is meant, or None where none is like it.

    Args:
        given: names of variables that are set.
        name: of the command that is asked for; the others are imported only where it does not know a variable.
        group: all commands.
    """
    context = click.Context(group)
    known = {*_variables(group.get_command(context, name)), *(f"{PREFIX}{own}" for own in NOT_OF_OPTIONS)}
    unknown = sorted(variable for variable in {*given} - known if variable.startswith(PREFIX))
    others = group.list_commands(context) if unknown else []
    of_others = {variable for other in others for variable in _variables(group.get_command(context, other))}
    found = {variable: _meant(variable, known, of_others) for variable in unknown if variable not in of_others}
    return {variable: meant for variable, meant in found.items() if meant or not variable.endswith(OF_KEYS)}


def _meant(variable: str, *known: Iterable[str]) -> str | None:
    """Return the most similar variable, of the first of these that have one."""
    cutoff = SIMILARITY if variable.endswith(OF_KEYS) else LIKE
    words = ({other.removeprefix(PREFIX) for other in names if other.startswith(PREFIX)} for names in known)
    found = (closest(variable.removeprefix(PREFIX), own, cutoff=cutoff) for own in words)
    return next((f"{PREFIX}{close}" for close in found if close), None)


def _variables(command: click.Command | None) -> Iterator[str]:
    """Yield the variables of a command's options, and of those below it."""
    for parameter in command.params if command else ():
        if isinstance(parameter.envvar, str):
            yield parameter.envvar
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _variables(command.get_command(context, name))
