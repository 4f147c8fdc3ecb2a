from __future__ import annotations

from typing import Any

from jsonschema_rs import Draft202012Validator
from support.cases import for_each

from trialbed_scripted.schemas import minimal_arguments, wrong_arguments

CITY = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    "one is required": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    "none is required": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "everything is allowed": {"type": "object", "properties": {}},
    "nothing is said": {},
    "by reference": {"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "$defs": {"City": CITY}},
    "by reference to a property": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}},
        "required": ["b"],
    },
}


@for_each("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_wrong_arguments_violate_the_schema(schema: dict[str, Any]) -> None:
    wrong = wrong_arguments(minimal_arguments(schema), schema)
    assert not (isinstance(wrong, dict) and Draft202012Validator(schema).is_valid(wrong))


def test_what_is_missing_comes_before_what_is_of_a_wrong_type() -> None:
    schema = SCHEMAS["one is required"]
    assert wrong_arguments({"a": "x"}, schema) == {}
    assert wrong_arguments({"a": "x"}, SCHEMAS["none is required"]) == {"a": {"unexpected": True}}
    assert wrong_arguments({}, {}) == []
