"""StableToolBench's query files and ToolBench's tool documents, as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter

from trialbed.errors import DataError
from trialbed.files import read_text
from trialbed.records import Api, GoldCall, Json, Parameter, Query
from trialbed_plugins.datasets._listed import check_queries, check_query, unique_apis
from trialbed_plugins.datasets._reading import validate, validate_part
from trialbed_plugins.datasets._scanning import each_parsed


class _Source(BaseModel):
    """Keys that are not named here are ignored; a null text counts as absent."""

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

    def record(self) -> Api:
        return self.api(self.category_name, self.tool_name, self.api_name, self.api_description or "")


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


_QUERY = TypeAdapter(_SourceQuery)
_QUERIES = TypeAdapter(tuple[_SourceQuery, ...])
_DOCUMENT = TypeAdapter(_ToolDocument)


def read_queries(path: Path) -> tuple[Query, ...]:
    """The queries of a file of StableToolBench.

    An identity that occurs twice in a query's ``api_list`` is one Api, as described first. An expected pair that
    occurs twice is two expected calls; one whose Apis are in several categories means the first of them.

    Raises:
        DataError: names the file and the line (where it is not JSON) or the query and key.
    """
    queries = tuple(_query(path, source) for source in validate(path, _QUERIES, read_text(path)))
    check_queries(path, queries)
    return queries


def each_checked(path: Path) -> Iterator[Query]:
    """Yield the queries of ``read_queries``, of which one at a time is in memory.

    Raises:
        DataError: as ``read_queries`` says, once the query is reached.
    """
    seen: set[str] = set()

    def parse(text: bytes, place: int) -> Query:
        query = parse_query(path, text, place)
        check_query(path, query, seen)
        return query

    return each_parsed(path, parse, lambda: read_queries(path))


def parse_query(path: Path, text: bytes, place: int) -> Query:
    """Return a query of a file of StableToolBench by its bytes.

    Args:
        path: of the file.
        place: of the query in the file.

    Raises:
        ValueError: they are no text.
        DataError: they are no query, or an expected Api is not on offer; names the query and key.
    """
    return _query(path, validate_part(path, _QUERY, text, (place,)))


def read_document(path: Path) -> tuple[Api, ...]:
    """The Apis of a tool document; their category is the name of the folder that the file is in.

    Raises:
        DataError: names the file and the line (where it is not JSON) or the key.
    """
    tool = validate(path, _DOCUMENT, read_text(path))
    about = tool.tool_description or ""
    category = path.absolute().parent.name
    return unique_apis(
        api.api(category, tool.tool_name, api.name, api.description or "", about) for api in tool.api_list
    )


def _query(path: Path, source: _SourceQuery) -> Query:
    apis = unique_apis(api.record() for api in source.api_list)
    return Query(
        query_id=source.query_id,
        text=source.query,
        apis=apis,
        gold_calls=tuple(_gold_call(path, source.query_id, pair, apis) for pair in source.relevant),
    )


def _gold_call(path: Path, query_id: int | str, pair: tuple[str, str], apis: Sequence[Api]) -> GoldCall:
    for api in apis:
        if (api.tool_name, api.api_name) == pair:
            return GoldCall(api=api.ref)
    raise DataError(f"{path}: query {query_id!r}, relevant APIs: {list(pair)} is not in its api_list")
