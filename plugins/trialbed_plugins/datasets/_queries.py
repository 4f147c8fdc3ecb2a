"""Read files of queries in Trialbed's format or StableToolBench's, and StableToolBench's documents about tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from trialbed.contracts import Dataset
from trialbed.errors import DataError
from trialbed.files import read_text
from trialbed.records import Api, ApiRef, GoldCall, Json, Parameter, Query, unique_apis
from trialbed.texts import whole_texts
from trialbed.wire import finite_float, json_decoder
from trialbed_tools.located import Key, read_yaml, real_key, title

T = TypeVar("T")

NEXT = re.compile(r"[^ \t\r\n]")
"""The beginning of the next value."""


def read_value(path: Path) -> Any:
    """Return the value in a JSON or YAML file, or the list of values in a JSON Lines file.

    Raises:
        DataError: the file cannot be read, or is not JSON or YAML; the message names the line.
    """
    if path.suffix in (".yaml", ".yml"):
        return read_yaml(path).value
    text, decoder = read_text(path), json_decoder(finite_float, unique=True)
    try:
        return list(_values(text, decoder)) if path.suffix == ".jsonl" else decoder.decode(text)
    except RecursionError:
        raise DataError(f"{path}: is not valid JSON: it is nested too deeply") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise DataError(f"{path}: is not valid JSON: {error.msg.removesuffix(' at')}: {place}") from error
    except ValueError as error:
        raise DataError(f"{path}: is not valid JSON: {error}") from error


def _values(text: str, decoder: json.JSONDecoder) -> Iterator[Any]:
    end = 0
    while begin := NEXT.search(text, end):
        value, end = decoder.raw_decode(text, begin.start())
        yield value


def validate(path: Path, adapter: TypeAdapter[T], value: Any, at: Key = ()) -> T:
    """Return a value of a file in the form that the adapter requires. Lone surrogates in texts are replaced.

    Args:
        at: the key of the value in the file.

    Raises:
        DataError: a key is missing or has a wrong type; the message names it.
    """
    try:
        try:
            return adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            if error.errors(include_url=False)[0]["type"] != "json_invalid":
                raise
            try:
                return adapter.validate_json(json.dumps(whole_texts(value)))
            except RecursionError:
                raise error from None
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        key, reason = (*at, *real_key(value, fault["loc"])), fault["msg"][:1].lower() + fault["msg"][1:]
        if fault["type"] == "missing":
            key, reason = (*key, fault["loc"][-1]), "the key is missing"
        query = f"task {value['query_id']!r}, " if isinstance(value, dict) and "query_id" in value else ""
        raise DataError(f"{path}: {query}{title(key) or 'the whole: '}{reason}") from error


QUERIES = "queries"
"""The key of the list of queries."""

NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._ -]*")
"""File names of results contain these names, so they have no separators."""


class ListedDataset(Dataset):
    """A dataset with its queries in memory."""

    def __init__(self, name: str, test_set: str, queries: Iterable[Query]) -> None:
        self.name = name
        self.test_set = test_set
        self._queries = tuple(queries)

    def queries(self) -> Sequence[Query]:
        return self._queries


def read_queries(path: Path) -> ListedDataset:
    """Read the queries in a file: ``{"name": …, "queries": [Query…]}``, or a list or lines of queries.

    Queries in a list or in lines may also have StableToolBench's format.

    If an identity occurs twice in a query's ``api_list``, its first description counts. If an expected pair occurs
    twice, two calls are expected. If its APIs are in several categories, it means the first one.

    Raises:
        DataError: the file is malformed; the message names the line, or the query and the key.
    """
    value = read_value(path)
    name: str | None = None
    key: Key = ()
    items = value
    if isinstance(value, dict):
        key, items = (QUERIES,), value.get(QUERIES, [])
        name = validate(path, _NAME, value["name"], ("name",)) if "name" in value else None
    others = [one for one in value if one not in ("name", QUERIES)] if key else []
    if others or not isinstance(items, list):
        wrong = [*others, *key, "the whole"][0]
        raise DataError(f"{path}: {wrong}: a file of tasks is a list, or has the keys name and queries")
    queries: dict[str, Query] = {}
    known: dict[ApiRef, Api] = {}
    for place, item in enumerate(items):
        items[place] = None  # keep large files in memory only once
        if key or (isinstance(item, dict) and "apis" in item and "api_list" not in item):
            query = validate(path, _QUERY, item, (*key, place))
        else:
            query = _from_source(path, validate(path, _SOURCE, item, (*key, place)))
        _check(query, path, queries)
        # Many queries have the same APIs, so these are shared in memory.
        apis = (kept if (kept := known.setdefault(api.ref, api)) == api else api for api in query.apis)
        queries[str(query.query_id)] = query.model_copy(update={"apis": tuple(apis)})
    name = dataset_name(path, name)
    return ListedDataset(name, name, queries.values())


def _check(query: Query, path: Path, earlier: Mapping[str, Query]) -> None:
    place = f"{path}: task {query.query_id!r}"
    if str(query.query_id) in earlier:
        raise DataError(f"{place}, number {len(earlier) + 1}: query_id occurs twice; identifiers must be unique")
    offered = {api.ref for api in query.apis}
    if len(offered) < len(query.apis):
        raise DataError(f"{place}: apis: a tool occurs twice; list each identity once")
    for call in query.gold_calls:
        if call.api not in offered | query.own_tools:
            raise DataError(f"{place}: gold_calls: {call.api.title!r} is not among its apis")


def dataset_name(path: Path, own: str | None = None) -> str:
    """Return the name of the dataset in a file, by default the file's name without suffix.

    Raises:
        DataError: the name is not valid for a dataset.
    """
    name = path.stem if own is None else own
    if not NAME.fullmatch(name):
        what = "the name of the file" if own is None else f"name: {own!r:.60}"
        raise DataError(f"{path}: {what} must match {NAME.pattern}, since results are named after it")
    return name


class _Source(BaseModel):
    """Keys without a field are ignored, and a null text counts as absent."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, protected_namespaces=())


class _SourceParameter(_Source):
    name: str
    type: str | None = None
    description: str | None = None
    default: Json = None

    def record(self) -> Parameter:
        return Parameter(
            name=self.name, type=self.type or "STRING", description=self.description or "", default=self.default
        )


class _SourceEndpoint(_Source):
    required_parameters: tuple[_SourceParameter, ...] | None = None
    optional_parameters: tuple[_SourceParameter, ...] | None = None
    method: str | None = None
    template_response: Json = None

    def api(self, category: str, tool_name: str, api_name: str, description: str, about: str = "") -> Api:
        return Api(
            category=category,
            tool_name=tool_name,
            api_name=api_name,
            description=description,
            tool_description=about,
            method=self.method or "GET",
            required_parameters=tuple(parameter.record() for parameter in self.required_parameters or ()),
            optional_parameters=tuple(parameter.record() for parameter in self.optional_parameters or ()),
            template_response=self.template_response,
        )


class _SourceApi(_SourceEndpoint):
    """An element of a query's ``api_list``."""

    category_name: str
    tool_name: str
    api_name: str
    api_description: str | None = None


class _SourceQuery(_Source):
    query: str
    query_id: int | str
    api_list: tuple[_SourceApi, ...]
    relevant: tuple[tuple[str, str], ...] = Field(validation_alias=AliasChoices("relevant APIs", "relevant_apis"))


class _DocumentedApi(_SourceEndpoint):
    """An element of a tool document's ``api_list``."""

    name: str
    description: str | None = None


class _ToolDocument(_Source):
    tool_name: str
    tool_description: str | None = None
    api_list: tuple[_DocumentedApi, ...]


_NAME = TypeAdapter(str)
_QUERY = TypeAdapter(Query)
_SOURCE = TypeAdapter(_SourceQuery)
_DOCUMENT = TypeAdapter(_ToolDocument)


def _from_source(path: Path, source: _SourceQuery) -> Query:
    given = source.api_list
    apis = unique_apis(
        api.api(api.category_name, api.tool_name, api.api_name, api.api_description or "") for api in given
    )
    meant = {api.ref.pair: api.ref for api in reversed(apis)}
    for pair in source.relevant:
        if pair not in meant:
            raise DataError(f"{path}: task {source.query_id!r}, relevant APIs: {list(pair)} is not in its api_list")
    gold_calls = tuple(GoldCall(api=meant[pair]) for pair in source.relevant)
    return Query(query_id=source.query_id, text=source.query, apis=apis, gold_calls=gold_calls)


def read_document(path: Path) -> tuple[Api, ...]:
    """Return the APIs in a tool document. Their category is the name of the file's folder.

    Raises:
        DataError: the message names the file and the line (if it is not JSON) or the key.
    """
    tool = validate(path, _DOCUMENT, read_value(path))
    about = tool.tool_description or ""
    category = path.absolute().parent.name
    return unique_apis(
        api.api(category, tool.tool_name, api.name, api.description or "", about) for api in tool.api_list
    )
