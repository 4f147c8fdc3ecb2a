"""Keys of live tools, which are values of variables and never go into files or answers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from trialbed.errors import DataError, UsageError
from trialbed.settings import MIN_SECRET, secret_values
from trialbed.wire.redaction import Redaction, redaction_of
from trialbed_tools.forms import ServerForm, ToolsForm
from trialbed_tools.located import Key, name_place

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,100})\}")
KEY = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)

_VALUE = r"(?!\.{0,2}/|~)[^\s'\"$-][^\s'\"$]{7}"
KEY_IN_COMMAND = re.compile(
    rf"(?:{KEY.pattern})(?:=|\s{{0,3}}:\s{{0,3}})['\"]?(?:(?:bearer|basic|token)\s{{1,3}})?{_VALUE}"
    rf"|-[\w-]{{0,60}}(?:{KEY.pattern})\s{{1,3}}['\"]?{_VALUE}",
    re.IGNORECASE,
)
"""A key with its name, as in ``--api-key VALUE`` or ``Authorization: Bearer VALUE``, but not a path or a variable."""

FOLDER = "TRIAL_FOLDER"
"""The variable with the path of a new folder for the files of one server."""


def expand(texts: Mapping[str, str], key: str, folder: Path | None = None) -> dict[str, str]:
    """Replace ``${NAME}`` in texts with the values of variables.

    Args:
        key: the key of the texts in the file.
        folder: the value of ``${TRIAL_FOLDER}``; if None, it is not replaced.

    Raises:
        DataError: the file contains a key.
        UsageError: a variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] == FOLDER:
            return match[0] if folder is None else str(folder)
        found = _variable(match[1])
        if not found:
            raise UsageError(f"{key}: the variable {match[1]} is not set")
        return found

    _check_texts(texts, key)
    made = {name: VARIABLE.sub(value, text) for name, text in texts.items()}
    for name, text in made.items():
        # Otherwise each call would fail, with the key in the error message.
        if key == "headers" and not (text.isascii() and text.isprintable()):
            raise UsageError(f"{key}.{name}: a header is one line in ASCII")
    return made


def check_keys(form: ToolsForm, place: Callable[[Key], str]) -> None:
    """Check that a file of tools contains no keys, even unused ones.

    Args:
        place: returns the file and line of a part.

    Raises:
        DataError: it contains a key; the message names the line.
    """
    with name_place(place(("headers",))):
        _check_texts(form.headers, "headers")
    if form.mcp is not None:
        with name_place(place(("mcp", "environment"))):
            _check_texts(form.mcp.environment, "mcp.environment")
        with name_place(place(("mcp", "command"))):
            check_command(form.mcp.command or "", "mcp.command")
        with name_place(place(("mcp", "url"))):
            _check_url(form.mcp.url or "", "mcp.url")


def _check_texts(texts: Mapping[str, str], key: str) -> None:
    for name, text in texts.items():
        if KEY.search(name) and not VARIABLE.search(text):
            raise DataError(f"{key}.{name}: do not write keys into files; write ${{NAME}} for a variable that holds it")


def check_command(command: str, key: str) -> None:
    """Check that a command contains no keys.

    Args:
        key: the key of the command in the file.

    Raises:
        DataError: it contains a key.
    """
    if KEY_IN_COMMAND.search(command) or redaction_of(secret_values()).finds(command):
        raise DataError(
            f"{key}: do not write keys into files, and the command has one; set a variable, name it (--environment "
            "NAME), and, if the program takes no variable, write sh -c 'PROGRAM --key \"$NAME\"'"
        )


def _variable(name: str) -> str:
    """Return the value of a variable without line ends, which keys never contain and headers must not contain."""
    return os.environ.get(name, "").strip()


def expand_url(url: str, key: str) -> str:
    """Replace ``${NAME}`` in an address with the values of variables.

    Args:
        key: the key of the address in the file.

    Raises:
        DataError: it is not an address, or it contains a key.
        UsageError: a variable is not set.
    """
    _check_url(url, key)
    return expand({"": url}, key)[""]


def _check_url(url: str, key: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise DataError(f"{key}: is not an address") from error
    user = parts.netloc.rpartition("@")[0]
    for name, text in [*parse_qsl(parts.query), *([("password", user)] if user else [])]:
        _check_texts({name: text}, key)


def needs_folder(texts: Iterable[str]) -> bool:
    """Return whether a text names the new folder."""
    return any(FOLDER in VARIABLE.findall(text) for text in texts)


def put_folder(word: str, folder: Path | None) -> str:
    """Insert the path of the new folder into a word of a command. Commands contain no other variables."""
    return word if folder is None else word.replace(f"${{{FOLDER}}}", str(folder))


def redaction_for(form: ToolsForm) -> Redaction:
    """Return the redaction for this program's secrets and for the variables of the tools."""
    return redaction_of(secrets_of([*form.headers.values(), *(server_texts(form.mcp) if form.mcp else ())]))


def server_texts(form: ServerForm) -> list[str]:
    """Return the texts of a server that may name variables."""
    return [*form.environment.values(), form.url or ""]


def secrets_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return this program's secrets and the values of the variables in the texts, longest first."""
    names = [name for text in texts for name in VARIABLE.findall(text)]
    own = {value for name in names if len(value := _variable(name)) >= MIN_SECRET}
    return tuple(sorted({*secret_values(), *own}, key=lambda value: (-len(value), value)))
