"""The commands, their options, and where each can be set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from parts._markdown import escaped, markdown, table
from trialbed.cli import cli
from trialbed.cli._group import COMMANDS, SECTIONS
from trialbed.cli.sections import SectionedCommand
from trialbed.drivers import list_drivers
from trialbed.settings import declared_settings

DEFAULT = re.compile(r" \[default: (.+)\]$")


def command_overview() -> str:
    """Every command with its purpose, in the order of ``bench --help``."""
    rows = [
        (f"`bench {name}`", escaped(text.rstrip("."))) for names in SECTIONS.values() for name, text in names.items()
    ]
    return table(("command", "purpose"), rows)


def commands() -> str:
    """Every command: usage, help, arguments, options and examples."""
    return "\n\n".join(_command(path, command) for path, command in walk_commands())


def adopting() -> str:
    """The commands of ``trialbed-masbench``, likewise."""
    return "\n\n".join(f"#{_command(path, command)}" for path, command in walk_commands(["adopt"]))


def walk_commands(names: Iterable[str] | None = None) -> Iterator[tuple[str, click.Command]]:
    """``path -> command`` of every command that is not a group, sorted: of these, or of the built-in ones."""
    for name in own_commands() if names is None else names:
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield name, command
            yield from ((f"{name} {inner}", command.commands[inner]) for inner in sorted(command.commands))
        elif command is not None:
            yield name, command


def own_commands() -> list[str]:
    """The names of Trialbed's own commands, without those of other distributions here."""
    return sorted(
        {*COMMANDS, *(driver.name for driver in list_drivers("commands") if driver.distribution == "trialbed")}
    )


def settings() -> str:
    """Every option that a variable or a settings file can set."""
    found: dict[tuple[str, str], list[str]] = {}
    for path, command in walk_commands():
        for option in _options(command):
            for name in _long_names(option) if option.envvar else ():
                found.setdefault((name, str(option.envvar)), []).append(path)
    rows = [
        (f"`--{name}`", f"`{variable}`", ", ".join(f"`{path}`" for path in paths), _keys_in_file(name, paths))
        for (name, variable), paths in sorted(found.items())
    ]
    return table(("option", "variable", "commands", "in the settings file"), rows)


def run_settings() -> str:
    """Every setting of a run, and what follows from its declaration."""
    rows = [
        (
            f"`{setting.setting.option[-1]}`",
            escaped(setting.setting.help.partition(" [default")[0]),
            "yes" if setting.identity else "",
            f"`{setting.document}`" if setting.document else "",
        )
        for setting in declared_settings()
    ]
    return table(("setting", "meaning", "part of the run's identity", "in the document's `metadata`"), rows)


def _command(path: str, command: click.Command) -> str:
    usage = " ".join(one.human_readable_name.upper() for one in command.params if isinstance(one, click.Argument))
    lines = [f"## bench {path}", "", f"    bench {path} [OPTIONS] {usage}".rstrip(), "", markdown(command.help or "")]
    if isinstance(command, SectionedCommand):
        sections = command.sections(click.Context(command))
        tables = [line for title, options in sections for line in (f"{title}:", "", _option_table(options), "")]
    else:
        tables = [_option_table(_options(command)), ""]
    return "\n".join([*lines, "", *tables, _examples(command)])


def _option_table(options: Iterable[click.Option]) -> str:
    rows = [
        (_names(option), _value(option), _default(option), escaped(DEFAULT.sub("", option.help or "")))
        for option in options
        if "--help" not in option.opts
    ]
    return table(("option", "value", "default", "meaning"), rows)


def _examples(command: click.Command) -> str:
    found = re.findall(r"bench .+", command.epilog or "")
    return "\n".join(["```console", *(f"$ {line.strip()}" for line in found), "```"])


def _options(command: click.Command) -> list[click.Option]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def _names(option: click.Option) -> str:
    return ", ".join(f"`{name}`" for name in option.opts)


def _long_names(option: click.Option) -> list[str]:
    return [name[2:] for name in option.opts if name.startswith("--")]


def _keys_in_file(name: str, paths: list[str]) -> str:
    # A command of a group (`bench data list`) has no table in the file.
    return ", ".join(f"`[{path}] {name}`" for path in paths if " " not in path)


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    return f"`{(option.metavar or option.type.name.split()[0].upper()).replace('|', chr(92) + '|')}`"


def _default(option: click.Option) -> str:
    if said := DEFAULT.search(option.help or ""):
        return said[1]
    if option.is_flag or not option.show_default:
        return ""
    default = option.default
    return f"`{' '.join(map(str, default)) if isinstance(default, tuple | list) else default}`"
