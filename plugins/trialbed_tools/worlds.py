"""The APIs in a file of tools, with the source of their answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trialbed.errors import DataError
from trialbed.records import Api
from trialbed.tasks import AnsweredApi
from trialbed.wire.json_schemas import JsonSchema, UnusableSchema
from trialbed_tools.forms import NAME, SAFE, DefinitionForm, ToolForm, ToolsForm
from trialbed_tools.located import name_place, read_document, validate

if TYPE_CHECKING:
    from trialbed_tools.http import Origin
    from trialbed_tools.live import LiveTools

ENDINGS = (".yaml", ".yml", ".json")
"""Suffixes of files of tools."""

OWN_TOOLS = "tools"
"""The category of tools that a file of tasks defines."""

SIMULATORS = {"model": "llm"}
"""Maps the source of answers to a simulator. All others use ``template``."""


@dataclass(frozen=True)
class FileWorld:
    """The content of a file of tools.

    Attributes:
        tools: APIs answered live or from recordings, and APIs answered by a simulator.
        simulator: the name of a driver.
        files: the file of tools and the file of its answers.
    """

    path: Path
    tools: tuple[Api | AnsweredApi, ...]
    simulator: str
    files: tuple[Path, ...]


def open_world(path: Path, answers: str | None = None) -> FileWorld:
    """Read a file of tools.

    Args:
        answers: overrides the source of answers in the file.

    Raises:
        DataError: it is malformed; the message names the line and the key.
        UsageError: a variable that its server needs is not set.
    """
    located = read_document(path)
    form = validate(ToolsForm, located)
    form = form.model_copy(update={"answers": answers}) if answers else form
    name = form.name or path.stem
    if not NAME.match(name):
        raise DataError(f"{path}: the name of the file must match {NAME.pattern}")
    _check(form.tools, path)
    if form.headers or form.mcp is not None:
        from trialbed_tools.secrets import check_keys

        check_keys(form, located.place)
    simulator = SIMULATORS.get(form.answers, "template")
    apis = [make_api(tool, name) for tool in form.tools]
    if form.answers not in ("live", "recorded"):
        return FileWorld(path, tuple(apis), simulator, (path,))
    from trialbed_tools.live import LiveBody, answers_path

    with name_place(located.place(("answers",)), "answers"):
        live = _live_tools(form, path)
    names = {
        tool.function.name: (tool.original if form.mcp else None) or tool.function.name
        for tool in form.tools
        if form.mcp or (tool.request is not None and tool.request.method in (*SAFE, *form.methods))
    }
    tools = [AnsweredApi(api, LiveBody(live, names[api.api_name])) if api.api_name in names else api for api in apis]
    return FileWorld(path, tuple(tools), simulator, (path, answers_path(path)))


def _live_tools(form: ToolsForm, path: Path) -> LiveTools:
    from trialbed_tools.live import KeptAnswers, LiveTools, answers_path
    from trialbed_tools.secrets import expand, expand_url, redaction_for

    is_live = form.answers == "live"
    kept = KeptAnswers(answers_path(path), redaction_for(form))
    readers = frozenset(tool.original or tool.function.name for tool in form.tools if tool.reads)
    identity = form.model_dump_json(exclude={"source"})
    headers = expand(form.headers, "headers") if is_live else {}
    if form.mcp is not None:
        from trialbed_tools.servers import require_sdk, server_connection

        if is_live:
            require_sdk()
            expand(form.mcp.environment, "mcp.environment")
            expand_url(form.mcp.url or "", "mcp.url")
        connect = partial(server_connection, form.mcp, path.parent, headers, kept.redaction)
        return LiveTools(kept, connect if is_live else None, identity, has_state=form.mcp.state, readers=readers)
    from trialbed_tools.http import HttpConnection

    requests = {tool.function.name: tool.request for tool in form.tools if tool.request is not None}
    url = form.url
    if not requests or (url is None and any("://" not in request.path for request in requests.values())):
        raise DataError(f"{form.answers} needs mcp, or a url and tools with a request")
    if headers and url is None and len({_origin(request.path) for request in requests.values()}) > 1:
        raise DataError(
            "headers may hold keys and go to one host only, but requests go to several: write the url of that host"
        )
    connect_http = partial(HttpConnection, url or "", requests, headers)
    return LiveTools(kept, connect_http if is_live else None, identity, has_state=False, readers=readers)


def _origin(address: str) -> Origin:
    from trialbed_tools.http import origin

    try:
        return origin(address)
    except ValueError as error:
        raise DataError(f"{address}: is not an address: {error}") from error


def _check(tools: Iterable[ToolForm], path: Path) -> None:
    seen = set()
    for tool in tools:
        name = tool.function.name
        if name in seen:
            raise DataError(f"{path}: tools: {name!r} occurs twice")
        seen.add(name)
        try:
            JsonSchema(tool.function.parameters)
        except UnusableSchema as error:
            raise DataError(f"{path}: tools: {name}: parameters: {error}") from error


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
