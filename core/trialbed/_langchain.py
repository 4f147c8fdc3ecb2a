"""A trial's tool as a tool of LangChain; imported only where LangChain is used."""

from __future__ import annotations

import keyword
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Protocol

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, create_model

from trialbed.records import ApiRef, ToolSpec

TYPES: Mapping[Any, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
"""Type in a JSON Schema -> type of a field; fields of any other type hold anything."""

NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


class CallableTool(Protocol):
    """The part of a ``trialbed.Tool`` that is needed here."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def metadata(self) -> dict[str, str]: ...

    async def ainvoke(self, arguments: Mapping[str, Any]) -> str: ...

    def invoke(self, arguments: Mapping[str, Any]) -> str: ...


class LangChainTool(StructuredTool):
    """A ``StructuredTool`` that calls the trial's Api, and that has the members of a ``Tool``.

    Models are offered the raw schema, and arguments reach the Api as the model wrote them. ``args_schema`` describes
    the same parameters for code that reads fields of a Pydantic model; it validates nothing. ``func`` takes arguments
    under the names of its fields, and under the parameters' own.

    LangChain keeps an argument named ``config`` or ``run_manager`` from every tool, and fails on one named ``self``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _tool: Any = PrivateAttr()

    @classmethod
    def of(cls, tool: CallableTool) -> LangChainTool:
        """Return the tool for LangChain."""
        own_names = {field: name for name, field in field_names(_properties(tool.spec)).items()}

        def renamed(arguments: Mapping[str, Any]) -> dict[str, Any]:
            return {own_names.get(name, name): value for name, value in arguments.items()}

        def call(**arguments: Any) -> str:
            return str(tool.invoke(renamed(arguments)))

        async def call_async(**arguments: Any) -> str:
            return str(await tool.ainvoke(renamed(arguments)))

        made = cls(
            name=tool.spec.name,
            description=tool.spec.description,
            args_schema=arguments_model(tool.spec),
            metadata=tool.metadata,
            func=call,
            coroutine=call_async,
        )
        made._tool = tool
        return made

    @property
    def spec(self) -> ToolSpec:
        """The tool as records have it."""
        spec: ToolSpec = self._tool.spec
        return spec

    @property
    def api(self) -> ApiRef:
        """The Api behind this tool."""
        return self.spec.api

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments, whole and unaltered."""
        return self.spec.parameters

    @property
    def tool_call_schema(self) -> Any:
        """The raw schema, as LangChain offers it to a model."""
        return {**self.parameters, "description": self.description} if self.description else dict(self.parameters)

    @property
    def args(self) -> dict[str, Any]:
        """The schemas of the parameters by name."""
        return dict(self.parameters.get("properties", {}))

    async def __call__(self, /, **arguments: Any) -> str:
        """Call the Api with these arguments, as a ``Tool`` does."""
        return str(await self._tool.ainvoke(arguments))

    def as_langchain(self) -> LangChainTool:
        """Return this tool itself."""
        return self

    def _to_args_and_kwargs(self, tool_input: Any, *_: Any) -> tuple[tuple[()], dict[str, Any]]:
        """Pass arguments on as they are, where LangChain would convert those of a model and leave some out."""
        return (), dict(tool_input)

    def _run(self, **arguments: Any) -> str:  # type: ignore[override, unused-ignore]
        return str(self._tool.invoke(arguments))

    async def _arun(self, **arguments: Any) -> str:  # type: ignore[override, unused-ignore]
        return str(await self._tool.ainvoke(arguments))


def arguments_model(spec: ToolSpec) -> type[BaseModel]:
    """Return a Pydantic model with a field for each parameter of a tool, each under a name of ``field_names``.

    Optional parameters have the schema's default, or None. Those without come before those with a default, as in the
    parameters of a function: there is code that writes a function from the fields, and takes None for no default.
    """
    required = spec.parameters.get("required", ())
    properties = _properties(spec)
    names = field_names(properties)
    fields: dict[str, Any] = {}
    for name in sorted(properties, key=lambda name: (name not in required, _default(properties[name]) is not None)):
        declared = properties[name] if isinstance(properties[name], Mapping) else {}
        default = ... if name in required else _default(declared)
        annotation = _annotation(declared.get("type"))
        about: dict[str, Any] = {"description": str(declared.get("description", ""))}
        if names[name] != name:
            about["alias"] = name
        fields[names[name]] = (
            Optional[annotation] if default is None else annotation,  # noqa: UP045 - code asks whether it is a Union
            Field(default, **about),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fields may have the names of a model's methods
        return create_model(f"{spec.name}_arguments", __config__=ConfigDict(protected_namespaces=()), **fields)


def field_names(parameters: Iterable[str]) -> dict[str, str]:
    """Return the names of fields by the names of parameters: their own, where Python and Pydantic allow these.

    Others become identifiers that no other parameter has: ``from`` is ``from_``, and ``_id`` is ``param_id``.
    """
    given = list(parameters)
    names = {name: name for name in given if _can_be_field(name)}
    for name in given:
        if name in names:
            continue
        plain = NOT_IN_NAMES.sub("_", name)
        field = f"{plain}_" if keyword.iskeyword(plain) else plain
        field = field if field[:1].isalpha() else f"param_{field.lstrip('_')}"
        while field in names.values():
            field += "_"
        names[name] = field
    return names


def _can_be_field(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("_") and not keyword.iskeyword(name)


def _properties(spec: ToolSpec) -> Mapping[str, Any]:
    found: Mapping[str, Any] = spec.parameters.get("properties", {})
    return found


def _default(declared: Any) -> Any:
    return declared.get("default") if isinstance(declared, Mapping) else None


def _annotation(declared: Any) -> Any:
    """Return the type of a field by the ``type`` of a schema, which may be a list with ``null`` in it."""
    kinds = [kind for kind in (declared if isinstance(declared, list) else [declared]) if kind != "null"]
    return TYPES.get(kinds[0], Any) if len(kinds) == 1 and isinstance(kinds[0], str) else Any
