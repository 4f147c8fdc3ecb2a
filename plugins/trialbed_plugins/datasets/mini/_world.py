"""The embedded tables, APIs and queries, read once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from trialbed.records import Api, ApiRef, GoldCall, Json, Query
from trialbed_plugins.datasets.mini._declarations import Endpoint, TableFile

ANSWERING = ("_endpoints.py", "_simulator.py")
"""The modules that compute answers. Any change to them changes the digest."""


@dataclass(frozen=True)
class RecordRow:
    table: TableFile
    values: Mapping[str, Json]


@dataclass(frozen=True)
class MiniWorld:
    """The embedded data.

    Attributes:
        tables: the tables by name.
        apis: every API by its identity, in file order.
        endpoints: the rules for answers, by API.
        queries: the queries in the dataset's order.
        digest: SHA-256 of all embedded files and the code that answers from them.
    """

    tables: Mapping[str, TableFile]
    apis: Mapping[ApiRef, Api]
    endpoints: Mapping[ApiRef, Endpoint]
    queries: tuple[Query, ...]
    digest: str

    def find(self, table: str, column: str, value: Json) -> RecordRow | None:
        """Return the first row of a table with this value in a column."""
        declared = self.tables[table]
        values = next((row for row in declared.rows if same(row[column], value)), None)
        return None if values is None else RecordRow(declared, values)

    def value(self, row: RecordRow, path: str) -> Json:
        """Return the value of a column at a path from a row, maybe through references (``city_id.region_id.name``)."""
        column, _, rest = path.partition(".")
        value = row.values[column]
        if not rest or value is None:
            return value
        table = row.table.references[column]
        target = self.find(table, self.tables[table].key, value)
        if target is None:
            raise LookupError(f"{column} {value!r} refers to no row of {table}")
        return self.value(target, rest)


@cache
def load_world() -> MiniWorld:
    """Read the embedded data. All callers share one immutable copy."""
    root = files(__package__)
    endpoints: dict[ApiRef, Endpoint] = {}
    apis: dict[tuple[str, ...], Api] = {}
    for category in (json.loads(text) for _, text in _named_texts(root / "apis")):
        for tool, declared in ((own, declared) for own in category["tools"] for declared in own["apis"]):
            api = Api(
                category=category["category"],
                tool_name=tool["tool_name"],
                api_name=declared["api_name"],
                description=declared["description"],
                tool_description=tool["description"],
                required_parameters=declared.get("required", ()),
                optional_parameters=declared.get("optional", ()),
            )
            apis[api.category, *api.ref.pair] = api
            endpoints[api.ref] = Endpoint.model_validate(declared["answer"])
    queries = [
        Query(
            query_id=declared["query_id"],
            text=declared["text"],
            apis=tuple(apis[tuple(triple)] for triple in declared["offer"]),
            gold_calls=tuple(GoldCall(api=apis[tuple(own)].ref, arguments=given) for own, given in declared["gold"]),
            reference_answer=declared["answer"],
            reference_facts=declared["facts"],
        )
        for declared in json.loads((root / "queries.json").read_text("utf-8"))
    ]
    digest = hashlib.sha256()
    for folder in (root / "apis", root / "tables", root):
        for name, text in _named_texts(folder):
            digest.update(f"{folder.name}/{name} {len(text)}\n{text}".encode())
    for name in ANSWERING:
        digest.update((root / name).read_bytes())
    return MiniWorld(
        tables={name: TableFile.model_validate_json(text) for name, text in _named_texts(root / "tables")},
        apis={api.ref: api for api in apis.values()},
        endpoints=endpoints,
        queries=tuple(queries),
        digest=digest.hexdigest(),
    )


def same(left: Any, right: Any) -> bool:
    """Return whether values are equal. Case and outer white space of texts are ignored."""
    if isinstance(left, str) and isinstance(right, str):
        return left.strip().casefold() == right.strip().casefold()
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _named_texts(folder: Traversable) -> list[tuple[str, str]]:
    entries = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".json")), key=lambda entry: str(entry.name)
    )
    return [(entry.name.removesuffix(".json"), entry.read_text("utf-8")) for entry in entries]
