"""The form of a file of tools."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")
"""Names go into file names of results, so they have no separators."""

Answers = Literal["schema", "model"]
"""The answers to calls: made of the schema, or by the simulator's model."""


class _Form(BaseModel):
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
    example: Any = Field(None, description="An answer, whose form all answers have.")


class RequestForm(_Form):
    """The HTTP request that a call is.

    A parameter goes where its name stands, and into the body otherwise.
    """

    method: str = Field("GET", pattern=r"^[A-Z]{3,10}$")
    path: str = Field(
        description="With {name} for each parameter in it; after the file's url, unless it is a whole URL."
    )
    query: list[str] = Field(default=[], description="Names of parameters that go into the query.")
    headers: list[str] = Field(default=[], description="Names of parameters that are headers.")
    commas: list[str] = Field(default=[], description="Names of lists that are written as one text with commas.")
    body: Literal["json", "form"] | None = Field(None, description="How the other parameters are written.")
    whole_body: str | None = Field(None, description="The parameter that is the whole body.")


class ToolForm(_Form):
    """A tool of the file."""

    type: Literal["function"] = "function"
    function: FunctionForm
    example: Any = Field(None, description="An answer, whose form all answers have.")
    request: RequestForm | None = None


class ToolsForm(_Form):
    """A file of tools."""

    name: str | None = Field(None, pattern=NAME.pattern, description="Name of the tools; the file's if left out.")
    source: str | None = Field(None, description="The document of which the file was made.")
    answers: Answers = Field("schema", description="The source of the answers to calls.")
    url: str | None = Field(None, pattern=r"^https?://", description="The address below which requests go.")
    tools: list[ToolForm] = Field(min_length=1)
