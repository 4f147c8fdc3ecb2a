"""The tools of a trial: their names for models, a selector's choices, and what is offered."""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from trialbed.catalogs import ApiCatalog
from trialbed.contracts import SelectionStage, ToolSelector
from trialbed.errors import DataError, UsageError
from trialbed.records import Api, ApiRef, Query, Record, ToolSpec

MAX_LENGTH = 64
"""The longest name that OpenAI-compatible endpoints take."""

OTHERS = re.compile(r"[^A-Za-z0-9-]+")
"""Runs of characters that are replaced, ``_`` among them."""

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""The names that OpenAI-compatible endpoints take."""

SUFFIX_LENGTH = 8
"""Hexadecimal digits that distinguish Apis with equal names."""


def safe_name(original: str) -> str:
    """Return the model-safe form of an original name; two originals may meet in one.

    Characters other than ASCII letters, digits, ``_`` and ``-`` become ``_``, runs of ``_`` collapse, outer
    ``_`` go, a leading ``-`` gets ``tool_``, an empty name is ``tool``; cut to 64.
    """
    name = OTHERS.sub("_", original).strip("_")
    if not name:
        return "tool"
    if not name[0].isalnum():
        name = f"tool_{name}"
    return name[:MAX_LENGTH].rstrip("_")


def function_name(original: str) -> str:
    """Return the model-safe form of a function's name, with ``_`` for each dot.

    That is how the function-calling leaderboard BFCL maps names. If endpoints would still reject the name,
    ``safe_name`` changes it.
    """
    name = original.replace(".", "_")
    return name if ALLOWED.fullmatch(name) else safe_name(original)


def tool_names(refs: Iterable[ApiRef], taken: Collection[str] = ()) -> dict[ApiRef, str]:
    """Return a unique model-safe name for each Api, independent of the order of ``refs``.

    If names of Apis are equal (among themselves or to a name in ``taken``), they all get a suffix from the SHA-256 of
    their identity: the triple, as Apis of two categories may share both names. If a suffixed name is again taken, the
    next round uses another hash.
    """
    names = {ref: _name(ref, 0) for ref in refs}
    rounds = dict.fromkeys(names, 0)
    while True:
        uses = Counter(names.values())
        uses.update(set(taken))
        meeting = [ref for ref, name in names.items() if uses[name] > 1]
        if not meeting:
            return names
        for ref in meeting:
            rounds[ref] += 1
            names[ref] = _name(ref, rounds[ref])


def _name(ref: ApiRef, number: int) -> str:
    name = safe_name(ref.title) if ref.tool_name else function_name(ref.api_name)
    if not number:
        return name
    kept = name[: MAX_LENGTH - 1 - SUFFIX_LENGTH].rstrip("_")
    identity = json.dumps([ref.category, ref.tool_name, ref.api_name, number])
    return f"{kept}_{hashlib.sha256(identity.encode()).hexdigest()[:SUFFIX_LENGTH]}"


class ChosenApi(Record):
    """An Api that a selector chose.

    Attributes:
        api: its identity.
        by: what chose it: ``words``, ``meaning``, ``both`` or ``model``.
        score: how well it fits, in units of ``by``'s own; None if only the order is known.
        topped_up: whether it fills up a choice of a model that was too short.
    """

    api: ApiRef
    by: str
    score: float | None = None
    topped_up: bool = False


class ExplainedSelector(ToolSelector):
    """A selector that says why it chose."""

    @abstractmethod
    def choices(self, query: Query, *, max_tools: int) -> list[ChosenApi]:
        """Return at most ``max_tools`` choices, best first, each Api once."""

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """Return the Apis of the choices."""
        return [choice.api for choice in self.choices(query, max_tools=max_tools)]


def choose(selector: ToolSelector, query: Query, max_tools: int) -> list[ChosenApi]:
    """Ask a selector for its choice, best first, each Api once. The reason is the selector's class unless it gives one.

    Raises:
        UsageError: it gives something else than identities of Apis.
    """
    if isinstance(selector, ExplainedSelector):
        return selector.choices(query, max_tools=max_tools)
    refs = list(selector.select(query, max_tools=max_tools))
    if wrong := [ref for ref in refs if not isinstance(ref, ApiRef)]:
        title, given = type(selector).__name__, type(wrong[0]).__name__
        raise UsageError(f"{title}.select must return a list of ApiRef, such as api.ref, not of {given}")
    refs = list(dict.fromkeys(refs))[:max_tools]
    return [ChosenApi(api=ref, by=type(selector).__name__) for ref in refs]


def explain_choices(selector: ToolSelector, query: Query, max_tools: int) -> dict[str, Any]:
    """Return a selector's choices for a query with rank and reason, and the expected Apis that are missing."""
    choices = choose(selector, query, max_tools)
    gold = set(query.gold_apis)
    offered = {choice.api for choice in choices}
    return {
        "query_id": query.query_id,
        "query": query.text,
        "choices": [
            {"rank": rank, **choice.api.model_dump(), "gold": choice.api in gold, **choice.model_dump(exclude={"api"})}
            for rank, choice in enumerate(choices, 1)
        ],
        "missed": [[ref.category, ref.tool_name, ref.api_name] for ref in query.gold_apis if ref not in offered],
    }


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
