"""Queries in Trialbed's own JSON form: ``{"name": …, "queries": [Query…]}``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from pydantic import Field, TypeAdapter

from trialbed.contracts import Dataset
from trialbed.errors import DataError
from trialbed.records import Api, Query, Record

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._ -]*$"
"""Names go into file names of results, so they have no separators."""


class QueryFile(Record):
    """The content of a file in Trialbed's own form."""

    name: str = Field(pattern=NAME_PATTERN)
    queries: tuple[Query, ...]


QUERY_FILE = TypeAdapter(QueryFile)


class ListedDataset(Dataset):
    """A dataset whose queries are all known; its Apis are those of the queries."""

    def __init__(self, name: str, test_set: str, queries: Iterable[Query]) -> None:
        self.name = name
        self.test_set = test_set
        self._queries = tuple(queries)

    def queries(self) -> Sequence[Query]:
        """All queries, in the file's order."""
        return self._queries

    def apis(self) -> Sequence[Api]:
        """The Apis on offer in any query, as their first query describes them."""
        return self._apis

    @cached_property
    def _apis(self) -> tuple[Api, ...]:
        return unique_apis(api for query in self._queries for api in query.apis)


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a dataset."""
    return re.fullmatch(NAME_PATTERN, text) is not None


def check_name(path: Path) -> str:
    """The name of the dataset in a file that has none of its own: the file's, without suffix.

    Raises:
        DataError: the file's name cannot be a dataset's.
    """
    if not is_name(path.stem):
        raise DataError(f"{path}: the name of the file must match {NAME_PATTERN}, since results are named after it")
    return path.stem


def unique_apis(apis: Iterable[Api]) -> tuple[Api, ...]:
    """Each identity once, as its first occurrence describes it."""
    found: dict[tuple[str, str, str], Api] = {}
    for api in apis:
        found.setdefault((api.category, api.tool_name, api.api_name), api)
    return tuple(found.values())


def check_queries(path: Path, queries: Iterable[Query]) -> None:
    """Check what cannot be seen from a single query.

    Raises:
        DataError: a query's identifier or an Api's identity occurs twice, or an expected Api is not on offer.
    """
    seen: set[str] = set()
    for query in queries:
        check_query(path, query, seen)


def check_query(path: Path, query: Query, seen: set[str]) -> None:
    """Check one query as ``check_queries`` does.

    Args:
        seen: the ids of those before it, to which its own is added.

    Raises:
        DataError: as ``check_queries`` says.
    """
    if str(query.query_id) in seen:
        place = f"{path}: query {query.query_id!r}, number {len(seen) + 1}"
        raise DataError(f"{place}: query_id occurs twice; identifiers must be unique")
    seen.add(str(query.query_id))
    _check_apis(path, query)


def _check_apis(path: Path, query: Query) -> None:
    offered = {api.ref for api in query.apis}
    if len(offered) < len(query.apis):
        raise DataError(f"{path}: query {query.query_id!r}: apis: an Api occurs twice; list each identity once")
    for call in query.gold_calls:
        if call.api not in offered:
            raise DataError(f"{path}: query {query.query_id!r}: gold_calls: {call.api.title!r} is not among its apis")
