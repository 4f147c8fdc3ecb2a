"""The form of a file of tasks."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from trialbed_tools.forms import NAME, DefinitionForm

Call = str | dict[str, dict[str, Any]]
"""``find`` for a call with any arguments, ``{find: {id: 7}}`` for one with these."""


class _TaskForm(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AtMostForm(_TaskForm):
    """The limits of a trial."""

    calls: int | None = Field(None, ge=0, description="Calls of tools.")
    requests: int | None = Field(None, ge=0, description="Requests to the model.")
    tokens: int | None = Field(None, ge=0, description="Tokens of all requests and answers.")
    seconds: float | None = Field(None, gt=0, strict=False, description="Wall time, in seconds.")


class ExpectForm(_TaskForm):
    """The expectations of a task, which is solved if all of them are met."""

    facts: str | list[str] = Field(default=[], description="Texts that the answer must say.")
    calls: list[Call] | None = Field(
        None, description="The calls that solve the task: a tool's name, or {name: {argument: value}}. [] for none."
    )
    ways: list[list[Call]] = Field(default=[], description="Other series of calls that solve the task as well.")
    order: Literal["any", "given"] = Field("any", description="Whether the order of the calls matters.")
    only: bool = Field(default=False, description="No other calls may be made.")
    never: list[str] = Field(default=[], description="Names of tools that must not be called.")
    state: Any = Field(None, description="The state of the world after a right solution.")
    at_most: AtMostForm = Field(AtMostForm(), description="The limits of a trial.")
    check: str | list[str] = Field(
        default=[],
        description="Functions that look at the trial, by name, or FILE.py:name. They return a bool or a text.",
    )
    criteria: str | list[str] = Field(
        default=[],
        description="Texts, such as 'The answer is polite', that the model of --judge-model finds true or not.",
    )


class NamedTestForm(ExpectForm):
    """Expectations under a name."""

    name: str = Field(min_length=1, max_length=200, description="Under which it is reported whether they are met.")


class TaskForm(_TaskForm):
    """A task."""

    query: str = Field(min_length=1, description="The task in words, as agents get it.")
    id: int | str | None = Field(None, description="Unique in the file; the task's place if left out.")
    tools: list[str] | None = Field(None, description="Names of the file's tools; all of them if left out.")
    expect: str | list[str] | ExpectForm | None = Field(
        None, description="Facts of a right answer, or all that is expected."
    )
    tests: list[NamedTestForm] = Field(
        default=[], description="Further expectations, each with a name and an outcome of its own."
    )
    answer: str | None = Field(None, description="A right answer in words, for judges that read one.")
    state: Any = Field(None, description="The first state of the world that the tools act on.")

    @field_validator("tests")
    @classmethod
    def _named_apart(cls, value: list[NamedTestForm]) -> list[NamedTestForm]:
        names = [one.name for one in value]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            message = "two tests are called {name}; give one another name"
            raise PydanticCustomError("name", message, {"name": repr(twice)})
        return value


class FileForm(_TaskForm):
    """A file of tasks."""

    name: str | None = Field(None, pattern=NAME.pattern, description="Name of the tasks; the file's if left out.")
    tools: str | list[str | DefinitionForm] = Field(
        default=[],
        description="Python files with tools, files that bench tools import wrote, or definitions of tools that a "
        "simulator answers for.",
    )
    tasks: list[TaskForm] = Field(min_length=1)

    @field_validator("tools")
    @classmethod
    def _as_list(cls, value: str | list[str | DefinitionForm]) -> list[str | DefinitionForm]:
        return [value] if isinstance(value, str) else value


def file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of tasks."""
    found = FileForm.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}
