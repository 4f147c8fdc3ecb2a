"""Run the commands, with defaults from a settings file, errors and exit codes around them.

Exit codes: 0 done · 1 done, but below ``--fail-under`` or with problems found · 2 usage · 3 nothing could be
measured · 70 a crash · 130 interrupted.
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli._group import cli

if TYPE_CHECKING:
    from trialbed.settings import SettingsFile

INTERRUPTED = 130

CRASHED = 70
"""As ``EX_SOFTWARE`` of sysexits.h."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Disk errors, which no option can fix."""


def main(args: Sequence[str] | None = None) -> int:
    """Run ``bench`` with these arguments (``sys.argv`` if None) and return its exit code.

    The program itself, without ``args``, ends with its own code at an unhandled exception; 1 means a failed check.
    """
    if args is None:
        # The interpreter's last collections would look at every object of a large run, which ends with it anyway.
        atexit.register(gc.freeze)
        for stream in (sys.stdout, sys.stderr):  # one that lacks a character shows its code
            if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
                stream.reconfigure(errors="backslashreplace")
    try:
        return _run(args)
    except Exception:
        if args is not None:
            raise
        import traceback

        traceback.print_exc()
        return CRASHED


def _run(args: Sequence[str] | None) -> int:
    from trialbed.errors import TrialbedError

    arguments = list(sys.argv[1:] if args is None else args)
    try:
        result = cli.main(arguments, prog_name="bench", standalone_mode=False, **_context(arguments))
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        _name_variable(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except TrialbedError as error:
        from trialbed.views import printable_lines

        # It may quote what others wrote, such as names of vendors.
        click.echo(f"Error: {printable_lines(str(error))}", err=True)
        return error.exit_code
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        # Without the rest of it, which would fail again at exit.
        sys.stdout = io.StringIO()
        where = error.filename or "the output"
        click.echo(f"Error: {where} could not be written completely: {error.strerror}", err=True)
        return 3
    return result if isinstance(result, int) else 0


def _context(arguments: list[str]) -> dict[str, Any]:
    command = next((argument for argument in arguments if not argument.startswith("-")), None)
    if command is None or not set(arguments).isdisjoint(("-h", "--help")):
        return {}
    from trialbed.settings import read_env_file, read_settings_file

    read_env_file(Path.cwd())
    settings = read_settings_file(Path.cwd())
    return {} if settings is None else {"default_map": default_map(settings)}


def _name_variable(error: click.ClickException) -> None:
    """Say which environment variable a wrong value comes from; click names the option only."""
    if not isinstance(error, click.BadParameter) or error.param is None or error.ctx is None:
        return
    source = error.ctx.get_parameter_source(error.param.name or "")
    if source is click.core.ParameterSource.ENVIRONMENT:
        click.echo(f"The value is set by the environment variable {error.param.envvar}.", err=True)


def default_map(settings: SettingsFile) -> dict[str, Any]:
    """Return the file's values in click's form.

    Raises:
        SettingsError: a command or an option is unknown, or a value is not of the option's; names file and key.
    """
    return {command: _options(settings, command, values) for command, values in settings.values.items()}


def _options(settings: SettingsFile, command: str, values: dict[str, Any]) -> dict[str, Any]:
    from trialbed.errors import SettingsError
    from trialbed.suggestions import closest, did_you_mean

    context = click.Context(cli)
    found = cli.get_command(context, command)
    if found is None:
        names = ", ".join(cli.list_commands(context))
        close = closest(command, cli.list_commands(context))
        hint = did_you_mean(close) if close else f"; commands are {names}"
        raise SettingsError(f"{settings.path}: [{command}] is not a command{hint}")
    known = {name.lstrip("-").replace("-", "_"): option for option in found.params for name in option.opts}
    for key in values:
        if key.replace("-", "_") not in known:
            close = closest(key.replace("-", "_"), known)
            hint = did_you_mean(close.replace("_", "-")) if close else f"; see bench {command} --help"
            raise SettingsError(f"{settings.path}: [{command}] has no option {key!r}{hint}")
    return dict(_option(settings, f"[{command}] {key}", known[key.replace("-", "_")], values[key]) for key in values)


def _option(settings: SettingsFile, key: str, option: click.Parameter, value: Any) -> tuple[str, Any]:
    from trialbed.errors import SettingsError

    if option.multiple and not isinstance(value, list):
        value = [value]
    try:
        option.type_cast_value(click.Context(cli), value)
    except (click.BadParameter, TypeError) as error:
        raise SettingsError(f"{settings.path}: {key}: {getattr(error, 'message', error)}") from error
    return str(option.name), value
