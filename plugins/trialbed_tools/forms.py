"""The format of a file of tools."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")
"""File names of results contain these names, so they have no separators."""

HEADER = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
"""Header names, as defined by HTTP."""

SAFE = ("GET", "HEAD", "QUERY")
"""Methods that change nothing, as defined by HTTP."""

HeaderName = Annotated[str, Field(pattern=HEADER.pattern)]

Answers = Literal["schema", "model", "live", "recorded"]
"""The source of answers: the schema, the simulator's model, live calls that are recorded, or recordings alone."""


class _ToolForm(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FunctionForm(BaseModel):
    """The definition of a tool, as OpenAI's API has it."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: str = Field(min_length=1)
    description: str = ""
    parameters: dict[str, Any] = Field(default={"type": "object", "properties": {}}, description="A JSON Schema.")


class DefinitionForm(BaseModel):
    """A tool that a simulator answers for."""

    model_config = ConfigDict(frozen=True, strict=True)

    type: Literal["function"] = "function"
    function: FunctionForm
    example: Any = Field(None, description="An example of an answer.")


class RequestForm(_ToolForm):
    """The HTTP request for a call.

    A parameter goes to the place that names it, and into the body otherwise.
    """

    method: str = Field("GET", pattern=r"^[A-Z][A-Z-]{1,19}$")
    path: str = Field(
        description="With {name} for each parameter in it; after the file's url, unless it is a whole URL."
    )
    query: list[str] = Field(default=[], description="Names of parameters that go into the query.")
    headers: list[HeaderName] = Field(default=[], description="Names of parameters that are headers.")
    styles: dict[str, Literal["commas", "deep", "json", "pairs"]] = Field(
        default={},
        description="How parameters are written: commas (a list or object of a query as one text), deep (an object as "
        "name[key]=value), json (any value as JSON) or pairs (an object in a path or header as key=value with commas).",
    )
    body: Literal["json", "form"] | None = Field(None, description="How the other parameters are written.")
    content_type: str | None = Field(
        None,
        pattern=r"^[!-~][ -~]{0,200}$",
        description="The type of the body, unless it is the usual one of its form.",
    )
    whole_body: str | None = Field(None, description="The parameter that is the whole body.")


class ServerForm(_ToolForm):
    """The MCP server that answers the calls."""

    command: str | None = Field(
        None,
        min_length=1,
        description="The program, which runs in the folder of the file; ${TRIAL_FOLDER} is a new, empty one.",
    )
    url: str | None = Field(None, pattern=r"^https?://", description="The address of a server that runs already.")
    state: bool = Field(True, description="Whether calls change later answers: each trial has its own server.")
    environment: dict[str, str] = Field(
        default={},
        description="Variables of the program; ${NAME} is the value of another, ${TRIAL_FOLDER} a new, empty folder.",
    )
    memory: int = Field(1024, ge=16, description="MiB that the program may use.")

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give a command or a url")
        return self


class ToolForm(_ToolForm):
    """A tool of the file."""

    type: Literal["function"] = "function"
    function: FunctionForm
    example: Any = Field(None, description="An example of an answer.")
    request: RequestForm | None = None
    original: str | None = Field(None, description="Its name at the MCP server, if that is another one.")
    reads: bool = Field(default=False, description="Whether its calls change nothing.")


class ToolsForm(_ToolForm):
    """A file of tools."""

    name: str | None = Field(None, pattern=NAME.pattern, description="Name of the tools; the file's if left out.")
    source: str | None = Field(None, description="The document that the file was made from.")
    answers: Answers = Field("schema", description="The source of the answers to calls.")
    url: str | None = Field(None, pattern=r"^https?://", description="The address below which requests go.")
    headers: dict[HeaderName, str] = Field(
        default={}, description="Headers of every request to url or mcp.url; ${NAME} is the value of a variable."
    )
    methods: list[str] = Field(default=[], description=f"Methods of requests that are sent, besides {', '.join(SAFE)}.")
    mcp: ServerForm | None = None
    tools: list[ToolForm] = Field(min_length=1)
