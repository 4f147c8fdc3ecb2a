"""Turn the Apis of a dataset, or a selector's choice, into tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialbed.catalogs import ApiCatalog
from trialbed.contracts import SelectionStage, ToolSelector
from trialbed.errors import DataError
from trialbed.records import Api, ApiRef, Query, ToolSpec
from trialbed_selection.choices import choose
from trialbed_selection.names import tool_names

MAX_DESCRIPTION = 1024
"""Characters of a tool's description; OpenAI-compatible endpoints refuse longer ones."""


class Catalog:
    """Every Api that may be offered, with its tool name.

    Attributes:
        apis: each identity once; if one occurs twice, the first.
        names: the tool name of every Api.
    """

    def __init__(self, apis: Sequence[Api]) -> None:
        self.apis = ApiCatalog.of(apis)
        self.names: Mapping[ApiRef, str] = tool_names(self.apis.refs)

    def tools(self, query: Query, selector: ToolSelector, *, max_tools: int) -> tuple[ToolSpec, ...]:
        """Return the tools for a query, at most ``max_tools``, sorted by name.

        Args:
            selector: has learnt the dataset's Apis (``prepare``).

        Raises:
            DataError: the selector chose an Api that neither the dataset nor the query has.
        """
        chosen = {choice.api: choice for choice in choose(selector, query, max_tools)}
        try:
            tools = self.specs(list(chosen)[:max_tools], query.apis)
        except KeyError as error:
            raise DataError(
                f"{type(selector).__name__} chose {error.args[0]!r} for task {query.query_id!r}, which is in neither "
                "the dataset nor the task; a selector must return identities of the tools that it was given"
            ) from error
        filled = {ref for ref, choice in chosen.items() if choice.topped_up}
        return tuple(tool.model_copy(update={"topped_up": True}) if tool.api in filled else tool for tool in tools)

    def specs(self, refs: Sequence[ApiRef], own: Sequence[Api] = ()) -> tuple[ToolSpec, ...]:
        """Return these Apis as tools, sorted by name.

        Apis of tools have one name in the whole catalog. A function, which belongs to no tool, has its own name unless
        it meets another of ``refs``.

        Args:
            refs: identities, each once, of Apis of the catalog or of ``own``.
            own: a query's own Apis. They describe themselves better than the catalog does. Apis that the
                catalog lacks get a name that differs from all of the catalog's.

        Raises:
            KeyError: an identity that is in neither.
        """
        better: dict[ApiRef, Api] = {}
        for api in own:
            better.setdefault(api.ref, api)
        strays = [ref for ref in better if ref not in self.names]
        known = {**self.names, **tool_names(strays, self.names.values())} if strays else self.names
        names = {ref: known[ref] for ref in refs if ref.tool_name}
        names |= tool_names([ref for ref in refs if not ref.tool_name], names.values())
        specs = (_spec(names[ref], better.get(ref) or self.apis.api(ref)) for ref in refs)
        return tuple(sorted(specs, key=lambda spec: spec.name))


def open_selection(apis: Sequence[Api]) -> SelectionStage:
    """Return a selection stage over a dataset's Apis."""
    return Catalog(apis)


def description(api: Api) -> str:
    """Return the text about an Api that the model reads: the original names, the Api's and the tool's descriptions.

    A function has only its own description, the only one that its model would be given elsewhere.
    """
    words = [f"{api.tool_name} / {api.api_name}" if api.tool_name else "", api.description]
    if api.tool_description:
        words.append(f"About {api.tool_name}: {api.tool_description}")
    text = "\n".join(" ".join(part.split()) for part in words if part.strip())
    return text if len(text) <= MAX_DESCRIPTION else f"{text[: MAX_DESCRIPTION - 1].rstrip()}…"


def _spec(name: str, api: Api) -> ToolSpec:
    return ToolSpec(name=name, description=description(api), parameters=api.parameters_schema(), api=api.ref)
