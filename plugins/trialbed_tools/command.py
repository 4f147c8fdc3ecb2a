"""``bench tools``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FILE, json_option, option, plain_option, print_json

EPILOG = """\b
Examples:
  bench tools import https://petstore3.swagger.io/api/v3/openapi.json -o petstore.yaml
  bench tools import tools.json -o shop.yaml --only 'find_*'
  bench tools import --mcp 'npx -y @modelcontextprotocol/server-memory' -o memory.yaml
"""

SHOWN = 10
"""Most names, and most reasons, to print."""


@click.group("tools", epilog=EPILOG)
def command() -> None:
    """Import tools from an API, a server or a program."""


@command.command("import", epilog=EPILOG)
@click.argument("source", required=False)
@option("-o", "--output", type=FILE, required=True, help="The file to write: .yaml, or .json.")
@option("--mcp", metavar="COMMAND|URL", help="Import the tools of an MCP server instead of SOURCE.")
@option(
    "--environment",
    multiple=True,
    metavar="NAME[=TEXT]",
    help="Environment variable for the server of --mcp; ${TRIAL_FOLDER} in TEXT is a new folder; repeatable.",
)
@plain_option("--stateless", is_flag=True, help="The tools of --mcp only read, so all trials can share one server.")
@option("--only", multiple=True, metavar="NAME", help="Only tools with this name, such as get_*; repeatable.")
@option(
    "--answers",
    type=click.Choice(["schema", "model", "live", "recorded"]),
    help="The source of the answers to calls. [default: live for --mcp, schema for others]",
)
@json_option
def import_command(
    source: str | None,
    output: Path,
    mcp: str | None,
    environment: tuple[str, ...],
    stateless: bool,
    only: tuple[str, ...],
    answers: str | None,
    as_json: bool,
) -> None:
    """Write a file of tools, for the tools of a file of tasks.

    SOURCE is a file or a URL: an OpenAPI document (3 or 2), whose operations become tools, or tool definitions in the
    form of OpenAI, Anthropic or MCP.
    """
    from trialbed.views import printable
    from trialbed.wire.redaction import shown_url
    from trialbed_tools.documents import find_tools, is_url
    from trialbed_tools.imports import file_content, import_server, server_fields, write_tools
    from trialbed_tools.servers import IMPORT_SECONDS

    if (source is None) == (mcp is None):
        raise click.UsageError("give SOURCE or --mcp")
    address = source or str(mcp)
    shown = shown_url(address) if is_url(address) else address
    if source is not None:
        content, left_out = file_content(find_tools(source), shown, answers or "schema", only)
    else:
        server = server_fields(address, environment, has_state=not stateless)
        click.echo(printable(f"waiting for {shown} to list its tools, for up to {IMPORT_SECONDS:g} s"), err=True)
        content, left_out = import_server(server, output.absolute().parent, answers or "live", only)
    write_tools(content, output)
    names = [tool["function"]["name"] for tool in content["tools"]]
    if as_json:
        print_json({"file": str(output), "tools": names, "left_out": left_out})
        return
    for line in _lines(content, left_out, output):
        click.echo(printable(line))


def _lines(content: Mapping[str, Any], left_out: tuple[str, ...], output: Path) -> Iterator[str]:
    from trialbed_tools.forms import SAFE

    names = [tool["function"]["name"] for tool in content["tools"]]
    yield f"{output}: {len(names)} {'tool' if len(names) == 1 else 'tools'} of {content['source']}: {_some(names)}"
    for line in left_out[:SHOWN]:
        yield f"left out: {line}"
    if len(left_out) > SHOWN:
        yield f"left out: {len(left_out) - SHOWN} more"
    methods = [tool.get("request", {}).get("method", "GET") for tool in content["tools"]]
    invented = [name for name, method in zip(names, methods, strict=True) if method not in SAFE]
    if invented and content["answers"] == "live":
        yield f"answered by schema, until methods in the file names theirs: {_some(invented)}"
    yield "Next, write tasks in a file, and run it: bench run --dataset FILE.yaml"
    yield f"  tools: {output.name}"
    yield "  tasks:"
    yield "    - query: …"
    yield f"      expect: {{calls: [{_call(content['tools'][0]['function'])}]}}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def _call(function: Mapping[str, Any]) -> str:
    """Return a call as written in a task, with minimal values for required arguments."""
    from trialbed_scripted.schemas import minimal_arguments

    arguments = minimal_arguments(function["parameters"])
    name = str(function["name"])
    return f"{{{name}: {json.dumps(arguments, ensure_ascii=False)}}}" if arguments else name
