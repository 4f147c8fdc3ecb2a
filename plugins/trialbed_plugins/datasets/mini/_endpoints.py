"""Answering a call from the tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from trialbed.records import Api, Json, usable_default
from trialbed_plugins.datasets.mini._declarations import Endpoint, Operator, Product, Select
from trialbed_plugins.datasets.mini._world import MiniWorld, RecordRow, same


class ApiError(Exception):
    """The Api refuses the call; the text is its error message."""


def respond(world: MiniWorld, api: Api, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The response of an Api of this world to arguments that fit its schema.

    Raises:
        ApiError: a key names nothing, or a value is out of bounds.
    """
    return _MiniCall(world, world.endpoints[api.ref], _with_defaults(api, arguments)).response()


class _MiniCall:
    def __init__(self, world: MiniWorld, endpoint: Endpoint, arguments: dict[str, Json]) -> None:
        self.world = world
        self.endpoint = endpoint
        self.arguments = arguments
        _check_minimum(endpoint, arguments)
        self.found = {
            name: self._look_up(name, target) for name, target in endpoint.lookups.items() if name in arguments
        }

    def response(self) -> dict[str, Json]:
        select = self.endpoint.select
        if select is not None:
            content = self._first(select) if select.first else self._list(select)
        elif self.endpoint.source:
            content = self._project(self.found[self.endpoint.source])
        else:
            content = {}
        return content | {key: self._figure(key, product) for key, product in self.endpoint.compute.items()}

    def _look_up(self, name: str, target: str) -> RecordRow:
        table, _, column = target.partition(".")
        row = self.world.find(table, column, self.arguments[name])
        if row is None:
            noun = self.world.tables[table].noun
            relation = "named" if column in ("name", "title") else f"with {column}"
            raise ApiError(f"no {noun} {relation} {self.arguments[name]!r}")
        return row

    def _list(self, select: Select) -> dict[str, Json]:
        rows = self._rows(select)
        if select.limit and select.limit in self.arguments:
            rows = rows[: int(self.arguments[select.limit])]
        return {"count": len(rows), select.key or select.table: [self._project(row) for row in rows]}

    def _first(self, select: Select) -> dict[str, Json]:
        rows = self._rows(select)
        if not rows:
            wanted = ", ".join(f"{name} {value!r}" for name, value in self.arguments.items())
            raise ApiError(f"no {self.world.tables[select.table].noun} for {wanted}")
        return self._project(rows[0])

    def _rows(self, select: Select) -> list[RecordRow]:
        table = self.world.tables[select.table]
        conditions = [condition for text in select.where for condition in self._condition(text)]
        rows = [RecordRow(table, values) for values in table.rows]
        kept = [row for row in rows if all(condition(row) for condition in conditions)]
        column = select.order.removeprefix("-")
        if column:
            kept.sort(key=lambda row: self.world.value(row, column), reverse=select.order.startswith("-"))
        return kept

    def _condition(self, text: str) -> Iterable[Callable[[RecordRow], bool]]:
        path, operator, source = text.split()
        if source.partition(".")[0] not in self.arguments:
            return
        test, wanted = OPERATORS[cast("Operator", operator)], self._value(source)
        yield lambda row: test(self.world.value(row, path), wanted)

    def _value(self, source: str) -> Json:
        """Look up the value that a parameter, or a path from the row it names, stands for."""
        name, _, path = source.partition(".")
        return self.world.value(self.found[name], path) if path else self.arguments[name]

    def _project(self, row: RecordRow) -> dict[str, Json]:
        pairs = (column.partition(" as ") for column in self.endpoint.columns)
        return {key or path.rpartition(".")[2]: self.world.value(row, path) for path, _, key in pairs}

    def _figure(self, key: str, product: Product) -> Json:
        try:
            figure = math.prod(float(self._value(source)) for source in product.factors)
            figure = round(figure / math.prod(self._value(source) for source in product.over), product.digits)
        except OverflowError:
            figure = math.inf
        if not math.isfinite(figure):
            raise ApiError(f"{key} is too large: the value of {product.factors[0].partition('.')[0]!r} is out of range")
        return figure if product.digits else int(figure)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return str(wanted).strip().casefold() in value.casefold()
    return any(same(item, wanted) for item in value)


OPERATORS: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": same,
    ">=": lambda value, wanted: bool(value >= wanted),
    "<=": lambda value, wanted: bool(value <= wanted),
    "contains": _contains,
    "in": lambda value, wanted: _contains(wanted, value),
    "all": lambda value, wanted: all(_contains(value, item) for item in wanted),
}
"""Compare a column's value with the one asked for."""


def _with_defaults(api: Api, arguments: Mapping[str, Json]) -> dict[str, Json]:
    defaults = {parameter.name: usable_default(parameter) for parameter in api.optional_parameters}
    return {name: value for name, value in defaults.items() if value is not None} | dict(arguments)


def _check_minimum(endpoint: Endpoint, arguments: Mapping[str, Json]) -> None:
    for name, least in endpoint.minimum.items():
        if name in arguments and arguments[name] < least:
            raise ApiError(f"parameter {name!r} must be at least {least:g}, not {arguments[name]!r}")
