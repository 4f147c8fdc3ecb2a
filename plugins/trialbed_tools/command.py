"""``bench tools``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FILE, json_option

EPILOG = """\b
Examples:
  bench tools import https://petstore3.swagger.io/api/v3/openapi.json -o petstore.yaml
  bench tools import tools.json -o shop.yaml
"""

SHOWN = 10
"""Names, and reasons, that are printed."""


@click.group("tools", epilog=EPILOG)
def command() -> None:
    """Make files of tools of the definitions that an API or a program has."""


@command.command("import", epilog=EPILOG)
@click.argument("source")
@click.option("-o", "--output", type=FILE, required=True, help="The file to write: .yaml, or .json.")
@click.option("--only", multiple=True, metavar="NAME", help="Only tools of this name, such as get_*; repeatable.")
@click.option(
    "--answers",
    type=click.Choice(["schema", "model"]),
    default="schema",
    show_default=True,
    help="What answers the calls: the schemas of answers, or the model of --simulator-model.",
)
@json_option
def import_command(source: str, output: Path, only: tuple[str, ...], answers: str, as_json: bool) -> None:
    """Write a file of tools, for the tools of a file of tasks.

    SOURCE is a file or a URL: an OpenAPI 3 document, whose operations become tools, or definitions of tools as
    OpenAI's, Anthropic's or MCP's API, or LangChain, has them.
    """
    from trialbed.wire.redaction import shown_url
    from trialbed_tools._loading import find_tools, is_url
    from trialbed_tools._writing import file_content, write_tools

    found = find_tools(source)
    content = file_content(found, shown_url(source) if is_url(source) else source, answers, only)
    write_tools(content, output)
    names = [tool["function"]["name"] for tool in content["tools"]]
    if as_json:
        click.echo(json.dumps({"file": str(output), "tools": names, "left_out": found.left_out}, indent=2))
        return
    from trialbed.views import printable

    for line in _lines(content, found.left_out, output):
        click.echo(printable(line))


def _lines(content: Mapping[str, Any], left_out: tuple[str, ...], output: Path) -> Iterator[str]:
    names = [tool["function"]["name"] for tool in content["tools"]]
    shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    yield f"{output}: {len(names)} {'tool' if len(names) == 1 else 'tools'} of {content['source']}: {shown}"
    for line in left_out[:SHOWN]:
        yield f"left out: {line}"
    if len(left_out) > SHOWN:
        yield f"left out: {len(left_out) - SHOWN} more"
    yield "Next, write tasks in a file, and run it: bench run --dataset FILE.yaml"
    yield f"  tools: {output.name}"
    yield "  tasks:"
    yield "    - query: …"
    yield f"      expect: {{calls: [{names[0]}]}}"
