"""Write files of tools from documents and MCP servers."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from trialbed.errors import DataError, UsageError
from trialbed.files import replace_file
from trialbed.texts import whole_texts
from trialbed.wire.json_schemas import JsonSchema, UnusableSchema
from trialbed.wire.redaction import redaction_of, shown_url
from trialbed_tools.documents import FoundTools, is_url, read_definitions, several
from trialbed_tools.forms import ServerForm, ToolsForm
from trialbed_tools.located import LARGEST, Located, parse_document, plain_value, read_document, validate
from trialbed_tools.secrets import check_command, expand, expand_url, secrets_of, server_texts
from trialbed_tools.servers import list_server
from trialbed_tools.worlds import ENDINGS

LOG = logging.getLogger("trialbed.tools")

LONGEST = 64
"""Longest name, in characters."""

MOST_READ = 1000
"""Most characters of a text to make a name from."""

_BAD = re.compile(r"[^A-Za-z0-9_-]+")


def file_content(
    found: FoundTools, source: str, answers: str, only: Iterable[str] = (), mcp: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the content of a file with these tools, and the skipped parts in words.

    Args:
        only: patterns of names, such as ``get_*``; empty for all tools.
        mcp: the server that offers the tools.

    Raises:
        DataError: no tool has a usable schema for its arguments.
        UsageError: no tool has such a name, or the answers need a server and none is known.
    """
    names = unique_names(tool.name for tool in found.tools)
    chosen = [(name, tool) for name, tool in zip(names, found.tools, strict=True) if _is_named(name, list(only))]
    if not chosen:
        raise UsageError(f"--only: no tool has such a name; there are {', '.join(names[:20])}")
    tools: list[dict[str, Any]] = []
    left_out = list(found.left_out)
    for name, tool in chosen:
        try:
            JsonSchema(dict(tool.parameters))
        except UnusableSchema as error:
            left_out.append(f"the schema of {name} cannot be used: {error}")
            continue
        function = {"name": name, "description": tool.description, "parameters": dict(tool.parameters)}
        beside = {"example": tool.example, "request": tool.request and dict(tool.request), "reads": tool.reads or None}
        if mcp is not None and name != tool.name:
            beside["original"] = tool.name
        tools.append({"function": function} | {key: value for key, value in beside.items() if value is not None})
    if not tools:
        raise DataError(f"{source}: {several(left_out)}")
    paths = [str(tool["request"]["path"]) for tool in tools if "request" in tool]
    can_be_called = mcp or (paths and (found.url or all("://" in path for path in paths)))
    if answers in ("live", "recorded") and not can_be_called:
        raise UsageError(f"--answers {answers}: {source} names no server to call; leave the option out")
    head = {"source": f"{found.title}: {source}", "answers": answers, "url": found.url, "mcp": mcp}
    return {**{key: value for key, value in head.items() if value is not None}, "tools": tools}, tuple(left_out)


def _is_named(name: str, only: list[str]) -> bool:
    from fnmatch import fnmatchcase

    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def write_tools(content: Mapping[str, Any], path: Path) -> None:
    """Write a file of tools atomically.

    Raises:
        DataError: the file could not be read back; the message names the line.
        UsageError: the file has another suffix, or cannot be written.
    """
    if path.suffix not in ENDINGS:
        raise UsageError(f"-o {path}: give it a name that ends with .yaml, or .json, which is read faster")
    content = whole_texts(content)
    is_json = path.suffix == ".json"
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n" if is_json else yaml_text(content)
    if len(text) > LARGEST:
        raise DataError(f"{path}: would have more than {LARGEST:,} characters; choose tools with --only")
    located = parse_document(text, str(path))
    validate(ToolsForm, located)
    if located.value != content:
        raise DataError(f"{path}: a value would not be read back unchanged; choose tools with --only")
    try:
        # Written atomically, since another program may be reading it.
        replace_file(path, text.encode())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name another file with -o") from error


def yaml_text(content: Any) -> str:
    """Return a value as YAML that is read back as the same value."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Quotes texts that ``parse_yaml`` would read as another value, and repeats values instead of using aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class has it
        return True


def _represent(dumper: _Dumper, text: str) -> yaml.Node:
    style = None
    if not isinstance(plain_value(text), str):
        style = "'"
    elif not text.replace("\n", "").isprintable():
        style = '"'
    elif "\n" in text:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)


def valid_name(text: str) -> str:
    """Turn a text into a name of letters, digits, ``_`` and ``-`` that begins with a letter or ``_``."""
    name = _BAD.sub("_", text[:MOST_READ]).strip("_-") or "tool"
    return (name if name[0].isalpha() else f"_{name}")[:LONGEST]


def unique_names(wanted: Iterable[str]) -> list[str]:
    """Return a valid name for each text. Duplicates get a number."""
    found: dict[str, None] = {}
    last: dict[str, int] = {}
    for text in wanted:
        plain = name = valid_name(text)
        while name in found:
            last[plain] = last.get(plain, 1) + 1
            ending = f"_{last[plain]}"
            name = plain[: LONGEST - len(ending)] + ending
        found[name] = None
    return list(found)


def server_fields(address: str, environment: Iterable[str] = (), *, has_state: bool = True) -> dict[str, Any]:
    """Return the fields of a server in a file of tools.

    Args:
        address: its command or URL.
        environment: its variables: ``NAME`` passes on a variable of this program, ``NAME=TEXT`` sets one.

    Raises:
        DataError: the command contains a key.
    """
    kind = "url" if is_url(address) or "://" in address.partition(" ")[0] else "command"
    if kind == "command":
        check_command(address, "mcp.command")
    made: dict[str, Any] = {kind: address}
    parts = [text.partition("=") for text in environment]
    if parts:
        made["environment"] = {name: text if equals else f"${{{name}}}" for name, equals, text in parts}
    return made if has_state else {**made, "state": False}


def import_server(
    server: Mapping[str, Any], folder: Path, answers: str, only: Iterable[str] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the content of a file with a server's tools, and the skipped parts in words.

    Args:
        folder: the working directory of a command.

    Raises:
        ToolsUnreachable: the server does not list its tools.
        DataError: no definition can be used, or the address or a variable contains a key.
        UsageError: a variable is not set.
    """
    form = validate(ServerForm, Located("--mcp", server))
    expand(form.environment, "mcp.environment")
    expand_url(form.url or "", "mcp.url")
    listed = list_server(form, folder, {}, redaction_of(secrets_of(server_texts(form))))
    found = replace(read_definitions(listed), title="an MCP server")
    return file_content(found, form.command or shown_url(str(form.url)), answers, only, server)


def kept_import(tasks: Path, address: str, number: int) -> Path:
    """Return the file with a server's tools next to a file of tasks. It is written if missing.

    Args:
        number: the position of the server among the servers of the tasks.

    Raises:
        DataError: the address contains a key.
        UsageError: the existing file belongs to another server.
        ToolsUnreachable: the server does not list its tools.
    """
    path = tasks.with_name(f"{tasks.stem}.mcp{'' if number == 1 else number}.yaml")
    fields = server_fields(address)
    if not path.exists():
        content, left_out = import_server(fields, path.absolute().parent, "live")
        if left_out:
            LOG.warning("--mcp: left out: %s", several(left_out))
        write_tools(content, path)
        return path
    kept = validate(ToolsForm, read_document(path)).mcp
    if kept is None or address not in (kept.command, kept.url):
        raise UsageError(f"--mcp {address}: {path} has the tools of another server: remove it, or name it under tools")
    return path
