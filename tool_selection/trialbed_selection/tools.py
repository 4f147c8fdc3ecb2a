"""The Apis of a dataset as tools."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.catalogs import ApiCatalog
from trialbed.records import Api, ApiRef, ToolSpec
from trialbed_selection.names import tool_names

MAX_DESCRIPTION = 1024
"""Characters of a tool's description; OpenAI-compatible endpoints refuse longer ones."""


class Catalog:
    """Every Api that may be offered, with its tool name.

    Attributes:
        apis: each identity once; of one that occurs twice the first.
        names: the tool name of every Api.
    """

    def __init__(self, apis: Sequence[Api]) -> None:
        self.apis = ApiCatalog.of(apis)
        self.names = tool_names(self.apis.refs)

    def specs(self, refs: Sequence[ApiRef], own: Sequence[Api] = ()) -> tuple[ToolSpec, ...]:
        """These Apis as tools, sorted by name.

        Apis of tools have one name in the whole catalog. A function, which belongs to no tool, has its own name unless
        it meets another of ``refs``.

        Args:
            refs: identities, each once, of Apis of the catalog or of ``own``.
            own: a query's own Apis. They describe themselves better than the catalog does, and one that the
                catalog lacks gets a name that meets none of the catalog's.

        Raises:
            KeyError: an identity that is in neither.
        """
        better: dict[ApiRef, Api] = {}
        for api in own:
            better.setdefault(api.ref, api)
        strays = [ref for ref in better if ref not in self.names]
        known = self.names | tool_names(strays, self.names.values()) if strays else self.names
        names = {ref: known[ref] for ref in refs if ref.tool_name}
        names |= tool_names([ref for ref in refs if not ref.tool_name], names.values())
        specs = (_spec(names[ref], better.get(ref) or self.apis.api(ref)) for ref in refs)
        return tuple(sorted(specs, key=lambda spec: spec.name))


def description(api: Api) -> str:
    """The text about an Api that the model reads: the original names, the Api's and the tool's descriptions.

    That of a function is its own description, which is all that its model would be given elsewhere.
    """
    words = [f"{api.tool_name} / {api.api_name}" if api.tool_name else "", api.description]
    if api.tool_description:
        words.append(f"About {api.tool_name}: {api.tool_description}")
    text = "\n".join(" ".join(part.split()) for part in words if part.strip())
    return text if len(text) <= MAX_DESCRIPTION else f"{text[: MAX_DESCRIPTION - 1].rstrip()}…"


def _spec(name: str, api: Api) -> ToolSpec:
    return ToolSpec(name=name, description=description(api), parameters=api.parameters_schema(), api=api.ref)
