from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable, Iterator
from typing import Any

from jsonschema_rs import Draft202012Validator, meta
from support.cases import for_each

from trialbed import HardSchema, hard_schemas

EACH = for_each("schema", hard_schemas(), ids=lambda schema: schema.name)


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from nodes(item)


def count(matches: Callable[[HardSchema], bool]) -> int:
    return sum(map(matches, hard_schemas()))


def has(keyword: str) -> Callable[[HardSchema], bool]:
    return lambda schema: any(keyword in node for node in nodes(schema.parameters))


@EACH
def test_a_schema_is_valid_and_so_are_its_arguments(schema: HardSchema) -> None:
    meta.validate(schema.parameters)
    assert not list(Draft202012Validator(schema.parameters).iter_errors(schema.arguments))


@EACH
def test_a_schema_is_one_of_an_object_under_a_valid_name(schema: HardSchema) -> None:
    assert schema.parameters["type"] == "object"
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", schema.name)
    assert json.loads(json.dumps(schema.parameters)) == schema.parameters


def test_there_are_many_and_none_is_another_one() -> None:
    assert len(hard_schemas()) >= 60
    assert len({schema.name for schema in hard_schemas()}) == len(hard_schemas())
    assert len({schema.description for schema in hard_schemas()}) == len(hard_schemas())
    assert len({json.dumps(schema.parameters) + schema.name for schema in hard_schemas()}) == len(hard_schemas())


def test_they_do_not_stand_in_the_order_of_the_alphabet() -> None:
    names = [schema.name for schema in hard_schemas()]
    assert names != sorted(names)
    assert names != sorted(names, key=str.lower)


@for_each(
    ("word", "least"),
    [
        ("enum", 5),
        ("anyOf", 4),
        ("oneOf", 2),
        ("allOf", 1),
        ("$ref", 8),
        ("$defs", 6),
        ("definitions", 1),
        ("additionalProperties", 5),
        ("patternProperties", 1),
        ("default", 6),
        ("const", 2),
        ("format", 1),
        ("prefixItems", 1),
        ("not", 1),
    ],
)
def test_keywords_that_frameworks_trip_over_are_there(word: str, least: int) -> None:
    assert count(has(word)) >= least


def test_so_are_the_other_hard_things() -> None:
    assert count(lambda schema: not schema.parameters.get("properties")) >= 3
    assert count(lambda schema: len(schema.name) == 64) >= 3
    assert count(lambda schema: keyword.iskeyword(schema.name)) >= 3
    assert count(lambda schema: not json.dumps(schema.parameters, ensure_ascii=False).isascii()) >= 3
    assert count(lambda schema: any(isinstance(node.get("type"), list) for node in nodes(schema.parameters))) >= 2
    names = {name for schema in hard_schemas() for name in schema.parameters.get("properties", {})}
    assert {"self", "config", "class", "_id", "", "a.b", "$ref", "model_config"} <= names
