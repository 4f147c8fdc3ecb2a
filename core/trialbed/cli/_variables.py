"""Finds misspelt environment variables: nothing else reads them, so that they would be ignored without a word."""

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

SIMILARITY = 0.8


def misspelt_variables(given: Iterable[str], name: str, group: click.Group) -> Mapping[str, str]:
    """Return the variables that no command knows and that are like one of this command's, with the one that is meant.

    Args:
        given: names of variables that are set.
        name: of the command that is asked for; the others are imported only where there is such a variable.
        group: all commands.
    """
    context = click.Context(group)
    known = {*_variables(group.get_command(context, name)), *(f"{PREFIX}{own}" for own in NOT_OF_OPTIONS)}
    words = [variable.removeprefix(PREFIX) for variable in known]
    found = {}
    for variable in sorted(set(given) - known):
        close = closest(variable.removeprefix(PREFIX), words, cutoff=SIMILARITY)
        if variable.startswith(PREFIX) and close is not None:
            found[variable] = f"{PREFIX}{close}"
    others = group.list_commands(context) if found else []
    of_others = {variable for other in others for variable in _variables(group.get_command(context, other))}
    return {variable: meant for variable, meant in found.items() if variable not in of_others}


def _variables(command: click.Command | None) -> Iterator[str]:
    """Yield the variables of a command's options, and of those below it."""
    for parameter in command.params if command else ():
        if isinstance(parameter.envvar, str):
            yield parameter.envvar
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _variables(command.get_command(context, name))
