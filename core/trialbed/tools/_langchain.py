"""A trial's tool as a tool of LangChain; imported only if LangChain is used."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, create_model

from trialbed.records import ToolSpec
from trialbed.tools._typed_functions import field_names, simple_type

MEMBERS = ("spec", "api", "parameters", "text", "atext", "as_openai", "as_function")
"""Members of a ``Tool`` that tools of LangChain do not have."""


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
    def of(cls, tool: Any) -> LangChainTool:
        """Return the tool for LangChain."""
        own_names = {field: name for name, field in field_names(_properties(tool.spec)).items()}

        def renamed(arguments: Mapping[str, Any]) -> dict[str, Any]:
            return {own_names.get(name, name): value for name, value in arguments.items()}

        def call(**arguments: Any) -> str:
            return str(tool.text(renamed(arguments)))

        async def call_async(**arguments: Any) -> str:
            return str(await tool.atext(renamed(arguments)))

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

    if not TYPE_CHECKING:  # attributes that are misspelt remain errors of types

        def __getattr__(self, name: str) -> Any:
            return getattr(self._tool, name) if name in MEMBERS else super().__getattr__(name)

    @property
    def tool_call_schema(self) -> Any:
        """The raw schema, as LangChain offers it to a model."""
        schema = self._tool.parameters
        return {**schema, "description": self.description} if self.description else dict(schema)

    @property
    def args(self) -> dict[str, Any]:
        """The schemas of the parameters by name."""
        return dict(self._tool.parameters.get("properties", {}))

    async def __call__(self, /, **arguments: Any) -> Any:
        """Call the Api with these arguments, as a ``Tool`` does."""
        return await self._tool.ainvoke(arguments)

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - as LangChain calls it
        """Return a message with the text for a model's call, and the result of the ``Tool`` for arguments."""
        return super().invoke(input, config, **kwargs) if _is_model_call(input) else self._tool.invoke(input)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - as LangChain calls it
        """The same as ``invoke``."""
        if _is_model_call(input):
            return await super().ainvoke(input, config, **kwargs)
        return await self._tool.ainvoke(input)

    def as_langchain(self) -> LangChainTool:
        """Return this tool itself."""
        return self

    def _to_args_and_kwargs(self, tool_input: Any, *_: Any) -> tuple[tuple[()], dict[str, Any]]:
        """Pass arguments on unchanged; LangChain would convert a model's arguments and drop some."""
        return (), dict(tool_input)

    def _run(self, **arguments: Any) -> str:  # type: ignore[override, unused-ignore]
        return str(self._tool.text(arguments))

    async def _arun(self, **arguments: Any) -> str:  # type: ignore[override, unused-ignore]
        return str(await self._tool.atext(arguments))


def _is_model_call(given: Any) -> bool:
    return isinstance(given, dict) and given.get("type") == "tool_call" and "args" in given


def arguments_model(spec: ToolSpec) -> type[BaseModel]:
    """Return a Pydantic model with a field for each parameter of a tool, named by ``field_names``.

    Optional parameters have the schema's default, or None. Fields without a default come first, as in the parameters of
    a function, because some code writes a function from the fields, and takes None for no default.
    """
    required = spec.parameters.get("required", ())
    properties = _properties(spec)
    names = field_names(properties)
    fields: dict[str, Any] = {}
    for name in sorted(properties, key=lambda name: (name not in required, _default(properties[name]) is not None)):
        declared = properties[name] if isinstance(properties[name], Mapping) else {}
        default = ... if name in required else _default(declared)
        annotation = simple_type(declared.get("type"))
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


def _properties(spec: ToolSpec) -> Mapping[str, Any]:
    found: Mapping[str, Any] = spec.parameters.get("properties", {})
    return found


def _default(declared: Any) -> Any:
    return declared.get("default") if isinstance(declared, Mapping) else None
