"""MASBench's tool selector, which works on tool objects without a run."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

from trialbed import contracts
from trialbed.drivers import list_drivers, load_driver
from trialbed.model_access import CompletionCache, ModelAccess
from trialbed.records import Api, ApiRef, ModelEndpoint, Query
from trialbed.settings import completion_cache
from trialbed_selection.retrieval import CatalogIndex

log = logging.getLogger("trialbed.selection")

OPENAI_URL = "https://api.openai.com/v1"

T = TypeVar("T")


class MasbenchSelector:
    """Selects tools for a query, with MASBench's constructor and method.

    Args:
        model: a model, which the selector ``llm`` asks, or the name of another selector, such as ``bm25``.
        temperature: of the model's requests.
        max_tools: how many tools at most.
        cache_dir: the folder of a model's replies; None for the state folder.
        verbose: whether to log each selection at level INFO.
        base_url: the model's endpoint; default ``OPENAI_BASE_URL``, or OpenAI's.
        api_key: the endpoint's key; default ``OPENAI_API_KEY``.
    """

    def __init__(
        self,
        model: str = "gpt-4o-mini",
        temperature: float = 0.0,
        max_tools: int = 120,
        cache_dir: str | Path | None = None,
        verbose: bool = False,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        self.model = model
        self.max_tools = max_tools
        self.verbose = verbose
        self._completions = completion_cache() if cache_dir is None else Path(cache_dir) / "completions.db"
        self._endpoint = ModelEndpoint(
            base_url=base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or "",
            model=model,
            temperature=temperature,
        )
        self._digest = ""
        self._selector: contracts.ToolSelector | None = None

    def select_tools(self, query: str, all_tools: Sequence[T]) -> list[T]:
        """Return the tools for a query, best first, each once.

        Args:
            query: its text.
            all_tools: tools of Trialbed or LangChain, records of Apis, functions as chat completions have them, or
                anything with a ``name`` and a ``description``.

        Raises:
            ModelFailed: the model cannot be reached, or refuses.
        """
        apis, tools = _tools_by_api(all_tools)
        refs = _outside_of_a_loop(lambda: self._prepare(apis).select(_query(query), max_tools=self.max_tools))
        found = [tools[ref] for ref in list(dict.fromkeys(refs))[: self.max_tools]]
        if self.verbose:
            log.info("%d of %d tools selected by %s for: %s", len(found), len(all_tools), self.model, query)
        return found

    def _prepare(self, apis: Sequence[Api]) -> contracts.ToolSelector:
        digest = CatalogIndex(apis).digest
        if self._selector is None or digest != self._digest:
            names = {driver.name for driver in list_drivers("selectors")}
            selector = cast(
                "contracts.ToolSelector", load_driver("selectors", self.model if self.model in names else "llm")()
            )
            if selector.needs_model:
                selector.model = ModelAccess(self._endpoint, cache=CompletionCache(self._completions))
            selector.prepare(apis)
            self._selector, self._digest = selector, digest
        return self._selector


ToolSelector = MasbenchSelector
"""The name that MASBench's programs import."""


def _query(text: str) -> Query:
    return Query(query_id=0, text=text, apis=())


def _tools_by_api(tools: Sequence[T]) -> tuple[list[Api], dict[ApiRef, T]]:
    """Return the Api that each tool stands for; of tools with one identity, the first."""
    found: dict[ApiRef, T] = {}
    apis: list[Api] = []
    for tool in tools:
        api = _api(tool)
        if api.ref not in found:
            found[api.ref] = tool
            apis.append(api)
    return apis, found


def _api(tool: Any) -> Api:
    if isinstance(tool, Api):
        return tool
    values = tool.get("function", tool) if isinstance(tool, dict) else None
    name = str(values.get("name", "") if values is not None else getattr(tool, "name", ""))
    description = (values.get("description") if values is not None else getattr(tool, "description", "")) or ""
    metadata = (values.get("metadata") if values is not None else getattr(tool, "metadata", None)) or {}
    ref = getattr(tool, "api", None)
    if isinstance(ref, ApiRef):
        metadata = ref.model_dump()
    return Api(
        category=str(metadata.get("category") or ""),
        tool_name=str(metadata.get("tool_name") or ""),
        api_name=str(metadata.get("api_name") or name),
        description=str(description),
    )


def _outside_of_a_loop(work: Callable[[], T]) -> T:
    """Do blocking work here, or in a thread if an event loop runs here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result()
