"""A trial's tool as a tool of LangChain; imported only where LangChain is used."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Protocol

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


class CallableTool(Protocol):
    """The part of a ``trialbed.Tool`` that is needed here."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def metadata(self) -> dict[str, str]: ...

    async def ainvoke(self, arguments: Mapping[str, Any]) -> str: ...

    def invoke(self, arguments: Mapping[str, Any]) -> str: ...


class LangChainTool(StructuredTool):
    """A ``StructuredTool`` that calls the trial's Api, and that has what a ``Tool`` has.

    Models are offered the raw schema, and arguments reach the Api as the model wrote them. ``args_schema`` describes
    the same parameters for code that reads fields of a Pydantic model; it validates nothing.

    LangChain keeps an argument named ``config`` or ``run_manager`` from every tool, and fails on one named ``self``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _tool: Any = PrivateAttr()

    @classmethod
    def of(cls, tool: CallableTool) -> LangChainTool:
        """Return the tool for LangChain."""

        def call(**arguments: Any) -> str:
            return str(tool.invoke(arguments))

        async def call_async(**arguments: Any) -> str:
            return str(await tool.ainvoke(arguments))

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
    """Return a Pydantic model with a field for each parameter of a tool.

    Optional parameters have the schema's default, or None. A name that Pydantic does not allow, since it begins with an
    underscore, becomes its field's alias.
    """
    required = spec.parameters.get("required", ())
    fields: dict[str, Any] = {}
    for name, schema in spec.parameters.get("properties", {}).items():
        declared = schema if isinstance(schema, Mapping) else {}
        default = ... if name in required else declared.get("default")
        annotation = _annotation(declared.get("type"))
        about: dict[str, Any] = {"description": str(declared.get("description", ""))}
        if name.startswith("_"):
            about["alias"] = name
        fields[f"param{name}" if "alias" in about else name] = (
            annotation | None if default is None else annotation,
            Field(default, **about),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fields may have the names of a model's methods
        return create_model(f"{spec.name}_arguments", __config__=ConfigDict(protected_namespaces=()), **fields)


def _annotation(declared: Any) -> Any:
    """Return the type of a field by the ``type`` of a schema, which may be a list with ``null`` in it."""
    kinds = [kind for kind in (declared if isinstance(declared, list) else [declared]) if kind != "null"]
    return TYPES.get(kinds[0], Any) if len(kinds) == 1 and isinstance(kinds[0], str) else Any
