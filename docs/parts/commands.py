"""The page of commands, and the settings on the page of the configuration."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import click

from parts.markdown import escaped, markdown, table
from trialbed.cli import cli
from trialbed.cli._group import COMMANDS, SECTIONS
from trialbed.cli.options import SectionedCommand
from trialbed.drivers import list_drivers
from trialbed.settings import declared_settings

DEFAULT = re.compile(r" \[default: (.+)\]$")
OTHERS = ("adopt",)
"""Commands of the compatibility packages."""

SHARED = 3
"""The fewest commands for describing an option with the same words once for all."""

PAGE = """\
# Commands

`bench`, `trialbed` and `python -m trialbed` are the same command. Results go to standard output, progress and errors to
standard error. See also [exit codes](errors.md#exit-codes) and [configuration](configuration.md), where each option can
be set permanently.

{overview}

Installed plugins can add commands; `bench --help` lists them with the others ([write
one](../how-to/write-a-plugin.md)).

## Shared options

These options mean the same in several commands, which only name them below.

{shared}

{commands}
"""

Command = tuple[str, click.Command]


def commands_page() -> str:
    """Return the page of every command with its options."""
    found = [*walk_commands(), *walk_commands(OTHERS)]
    shared = _shared_options(found)
    return PAGE.format(
        overview=_overview(),
        shared="\n".join(map(_described, shared.values())),
        commands="\n\n".join(_command(path, command, shared) for path, command in found),
    )


def walk_commands(names: Iterable[str] | None = None) -> Iterator[Command]:
    """Yield ``path, command`` of these commands, or of the built-in ones, without groups; sorted."""
    for name in own_commands() if names is None else names:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield name, command
            yield from ((f"{name} {inner}", command.commands[inner]) for inner in sorted(command.commands))
        elif command is not None:
            yield name, command


def own_commands() -> list[str]:
    """Return the names of Trialbed's own commands, without other distributions' commands here."""
    return sorted(
        {*COMMANDS, *(driver.name for driver in list_drivers("commands") if driver.distribution == "trialbed")}
    )


def settings() -> str:
    """Return every option that a variable can set, by the commands that have it."""
    found: dict[str, list[str]] = defaultdict(list)
    variables: dict[str, str] = {}
    for path, command in walk_commands():
        for option in _options(command):
            for name in option.opts if option.envvar else ():
                if name.startswith("--"):
                    found[name].append(path)
                    variables[name] = str(option.envvar)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, paths in sorted(found.items()):
        usual = f"TRIALBED_{name[2:].upper().replace('-', '_')}"
        other = "" if variables[name] == usual else f" (`{variables[name]}`)"
        groups[tuple(paths)].append(f"`{name}`{other}")
    lines = [f"- {', '.join(f'`{path}`' for path in paths)}: {', '.join(names)}" for paths, names in groups.items()]
    return "\n".join(sorted(lines, key=lambda line: (line.count("`"), line), reverse=True))


def run_settings() -> str:
    """Return the settings that identify a run, and the other settings."""
    named: dict[bool, list[str]] = {True: [], False: []}
    for setting in declared_settings():
        option = setting.setting.option[-1]
        document = setting.document
        other = f" (`{document}`)" if document and document != option[2:].replace("-", "_") else ""
        named[setting.identity].append(f"`{option}`{other}")
    return (
        "The key in the document's `metadata` is in parentheses where it has another name.\n\n"
        f"- part of the identity: {', '.join(named[True])}\n- not part of it: {', '.join(named[False])}"
    )


def _overview() -> str:
    rows = [
        (f"`bench {name}`", escaped(text.rstrip("."))) for names in SECTIONS.values() for name, text in names.items()
    ]
    return table(("command", "purpose"), rows)


def _shared_options(found: Iterable[Command]) -> dict[str, click.Option]:
    """Return the options that several commands have with the same words, by names and words."""
    seen: dict[str, list[click.Option]] = defaultdict(list)
    for _, command in found:
        for option in _options(command):
            seen[_described(option)].append(option)
    return {text: options[0] for text, options in sorted(seen.items()) if len(options) >= SHARED}


def _command(path: str, command: click.Command, shared: Iterable[str]) -> str:
    usage = " ".join(one.human_readable_name.upper() for one in command.params if isinstance(one, click.Argument))
    lines = [f"## bench {path}", "", f"    bench {path} [OPTIONS] {usage}".rstrip(), ""]
    lines += [markdown(command.help or ""), ""]
    if isinstance(command, SectionedCommand):
        sections = [(f"{title}:", options) for title, options in command.sections(click.Context(command))]
    else:
        sections = [("", _options(command))]
    also = []
    for title, options in sections:
        texts = {_described(option): _names(option) for option in options if "--help" not in option.opts}
        own = [text for text in texts if text not in shared]
        also += [names for text, names in texts.items() if text in shared]
        lines += [title, "", *own, ""] if own else []
    lines += [f"Shared: {', '.join(also)}.", ""] if also else []
    return "\n".join([*lines, _examples(command)]).replace("\n\n\n", "\n\n")


def _names(option: click.Option) -> str:
    return ", ".join(f"`{name}`" for name in option.opts)


def _described(option: click.Option) -> str:
    names = _names(option)
    if value := _value(option):
        names = f"{names[:-1]} {value}`"
    default = _default(option)
    said = DEFAULT.sub("", option.help or "").rstrip(".")
    return f"- {names}: {said}{f' [{default}]' if default else ''}."


def _examples(command: click.Command) -> str:
    found = re.findall(r"bench .+", command.epilog or "")
    return "\n".join(["```console", *(f"$ {line.strip()}" for line in found[:2]), "```"]) if found else ""


def _options(command: click.Command) -> list[click.Option]:
    return [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts
    ]


def _value(option: click.Option) -> str:
    return "" if option.is_flag else option.metavar or option.type.name.split()[0].upper()


def _default(option: click.Option) -> str:
    if said := DEFAULT.search(option.help or ""):
        return said[1]
    if option.is_flag or not option.show_default:
        return ""
    default = option.default
    text = " ".join(map(str, default)) if isinstance(default, tuple | list) else str(default)
    return f"`{text}`" if text else ""
