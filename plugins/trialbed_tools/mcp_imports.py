"""Makes files of the tools of MCP servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed.wire.redaction import redaction_of, shown_url
from trialbed_tools._definitions import read_definitions
from trialbed_tools._imported import FoundTools
from trialbed_tools._loading import is_url
from trialbed_tools._secrets import check_command, expand, expand_url, secrets_of, server_texts
from trialbed_tools._writing import file_content, write_tools
from trialbed_tools.forms import ServerForm, ToolsForm
from trialbed_tools.located import Located, read_document, validate
from trialbed_tools.servers import list_server


def server_fields(address: str, environment: Iterable[str] = (), *, has_state: bool = True) -> dict[str, Any]:
    """Return a server as files of tools have it.

    Args:
        address: its command or URL.
        environment: its variables: ``NAME`` for one of this program's, or ``NAME=TEXT``.

    Raises:
        DataError: a key stands in the command.
    """
    if not is_url(address):
        check_command(address, "mcp.command")
    made: dict[str, Any] = {"url" if is_url(address) else "command": address}
    parts = [text.partition("=") for text in environment]
    if parts:
        made["environment"] = {name: text if equals else f"${{{name}}}" for name, equals, text in parts}
    return made if has_state else {**made, "state": False}


def import_server(
    server: Mapping[str, Any], folder: Path, answers: str, only: Iterable[str] = ()
) -> tuple[FoundTools, dict[str, Any]]:
    """Return the tools of a server, and the content of a file of them.

    Args:
        folder: in which a command runs.

    Raises:
        ToolsUnreachable: it does not list its tools.
        DataError: a definition is malformed, or a key stands in the address or a variable.
        UsageError: a variable is not set.
    """
    form = validate(ServerForm, Located("--mcp", server))
    expand(form.environment, "mcp.environment")
    expand_url(form.url or "", "mcp.url")
    listed = list_server(form, folder, {}, redaction_of(secrets_of(server_texts(form))))
    found = replace(read_definitions(listed), title="an MCP server")
    return found, file_content(found, form.command or shown_url(str(form.url)), answers, only, server)


def kept_import(tasks: Path, address: str, number: int) -> Path:
    """Return the file of the tools of a server beside a file of tasks; it is made where it is not there.

    Args:
        number: of the server among those of the tasks.

    Raises:
        DataError: a key stands in the address.
        UsageError: the file that is there is of another server.
        ToolsUnreachable: the server does not list its tools.
    """
    path = tasks.with_name(f"{tasks.stem}.mcp{'' if number == 1 else number}.yaml")
    fields = server_fields(address)
    if not path.exists():
        _, content = import_server(fields, path.absolute().parent, "live")
        write_tools(content, path)
        return path
    kept = validate(ToolsForm, read_document(path)).mcp
    if kept is None or address not in (kept.command, kept.url):
        raise UsageError(f"--mcp {address}: {path} has the tools of another server: remove it, or name it under tools")
    return path
