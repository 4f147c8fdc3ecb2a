"""StableToolBench's queries in the form of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.files import read_bytes

QueryRow = dict[str, Any]


class QueryLoader:
    """Loads queries of test sets.

    Args:
        query_instruction_dir: the folder of the test sets, ``test_instruction``.
        query_ids_dir: a folder with the ids of the queries that count, by test set; None for all.
    """

    def __init__(self, query_instruction_dir: str | Path, query_ids_dir: str | Path | None = None) -> None:
        self.query_instruction_dir = query_instruction_dir
        self.query_ids_dir = query_ids_dir

    def load_queries(self, test_set: str = "G1_instruction", max_queries: int | None = None) -> list[QueryRow]:
        """Return the queries of a test set, at most ``max_queries`` of them; None or 0 for all.

        Raises:
            DataError: a file cannot be read.
        """
        queries: list[QueryRow] = _read(Path(self.query_instruction_dir) / f"{test_set}.json")
        ids = Path(self.query_ids_dir) / f"{test_set}.json" if self.query_ids_dir is not None else None
        if ids is not None and ids.exists():
            chosen = {str(query_id) for query_id in _read(ids)}
            queries = [query for query in queries if str(query.get("query_id", "")) in chosen]
        return queries[: max_queries or None]

    @staticmethod
    def extract_gold_tool_calls(query: Mapping[str, Any]) -> list[list[str]]:
        """Return the ``[tool_name, api_name]`` of each gold Api.

        If a query names no gold Api, these are its own Apis. (MASBench returns their descriptions then.)
        """
        named = query.get("relevant APIs") or query.get("relevant_apis")
        if named:
            return [list(pair) for pair in named]
        return [[api["tool_name"], api["api_name"]] for api in query.get("api_list", ())]

    @staticmethod
    def extract_available_tools(query: Mapping[str, Any]) -> list[QueryRow]:
        """Return the tools of a query, each with its category and its Apis."""
        if query.get("available_tools"):
            return list(query["available_tools"])
        found: dict[tuple[str, str], QueryRow] = {}
        for api in query.get("api_list", ()):
            place = str(api.get("category_name", "")), str(api.get("tool_name", ""))
            tool = found.setdefault(place, {"category": place[0], "tool_name": place[1], "apis": []})
            tool["apis"].append({key: api.get(key, "") for key in ("api_name", "api_description")})
        return [tool for tool in found.values() if tool["tool_name"]]


def _read(path: Path) -> Any:
    try:
        return json.loads(read_bytes(path))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
