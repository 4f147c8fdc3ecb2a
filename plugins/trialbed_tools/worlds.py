"""The Apis of a file of tools, and the answers to their calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trialbed.errors import DataError
from trialbed.records import Api
from trialbed_tools.forms import NAME, DefinitionForm, ToolForm, ToolsForm
from trialbed_tools.located import read_document, validated

ENDINGS = (".yaml", ".yml", ".json")
"""Of files of tools."""

OWN_TOOLS = "tools"
"""The category of tools that a file of tasks defines."""

SIMULATORS = {"schema": "template", "model": "llm"}
"""Answers -> the simulator that makes them."""


@dataclass(frozen=True)
class World:
    """The content of a file of tools.

    Attributes:
        simulator: answers for the Apis; the name of a driver.
    """

    path: Path
    apis: tuple[Api, ...]
    simulator: str


def open_world(path: Path) -> World:
    """Read a file of tools.

    Raises:
        DataError: it is malformed; names the line and the key.
    """
    located = read_document(path)
    form = validated(ToolsForm, located)
    name = form.name or path.stem
    if not NAME.match(name):
        raise DataError(f"{path}: the name of the file must match {NAME.pattern}")
    _check_names(form.tools, path)
    return World(path, tuple(make_api(tool, name) for tool in form.tools), SIMULATORS[form.answers])


def _check_names(tools: Iterable[ToolForm], path: Path) -> None:
    seen = set()
    for tool in tools:
        if tool.function.name in seen:
            raise DataError(f"{path}: tools: {tool.function.name!r} occurs twice")
        seen.add(tool.function.name)


def make_api(form: DefinitionForm | ToolForm, category: str = OWN_TOOLS) -> Api:
    """Return the Api of a definition."""
    return Api(
        category=category,
        tool_name="",
        api_name=form.function.name,
        description=form.function.description,
        json_schema=form.function.parameters,
        template_response=form.example,
    )
