"""Dataset parameters as JSON Schema."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.records import Api, Parameter, json_type, usable_default

TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "ENUM", "DATE (YYYY-MM-DD)", "string", " int ")
DEFAULTS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers())
PARAMETERS = st.lists(
    st.builds(
        Parameter,
        name=st.text(min_size=1, max_size=6),
        type=st.sampled_from(TYPES),
        description=st.text(max_size=8),
        default=DEFAULTS,
    ),
    max_size=5,
)


def api(required: tuple[Parameter, ...] = (), optional: tuple[Parameter, ...] = ()) -> Api:
    return Api(category="C", tool_name="T", api_name="A", required_parameters=required, optional_parameters=optional)


@for_each(
    ("word", "kind"),
    [("STRING", "string"), ("number", "number"), (" Int", "integer"), ("DATE (YYYY-MM-DD)", "string"), ("", "string")],
)
def test_json_type(word: str, kind: str) -> None:
    assert json_type(word) == kind


@for_each(
    ("kind", "default", "usable"),
    [
        ("STRING", "x", "x"),
        ("STRING", "", None),
        ("STRING", 5, None),
        ("NUMBER", "5", 5),
        ("NUMBER", "5.50", 5.5),
        ("NUMBER", "between 1 and 9", None),
        ("NUMBER", "nan", None),
        ("NUMBER", "inf", None),
        ("NUMBER", [1], None),
        ("NUMBER", True, None),
        ("INTEGER", "5.0", None),
        ("INTEGER", 5.0, None),
        ("BOOLEAN", "True", True),
        ("BOOLEAN", "no", None),
        ("BOOLEAN", 1, None),
        ("ARRAY", [], []),
        ("ARRAY", "[]", None),
        ("OBJECT", {"a": 1}, {"a": 1}),
    ],
)
def test_usable_default(kind: str, default: Any, usable: Any) -> None:
    value = usable_default(Parameter(name="p", type=kind, default=default))
    assert value == usable
    assert type(value) is type(usable)


def test_a_name_that_comes_twice_is_one_property() -> None:
    twice = (Parameter(name="q", description="first"), Parameter(name="q", description="second"))
    schema = api(twice, (Parameter(name="q", description="third"),)).parameters_schema()
    assert schema == {
        "type": "object",
        "properties": {"q": {"type": "string", "description": "first"}},
        "required": ["q"],
    }


def test_names_are_kept_as_they_are() -> None:
    names = ("$ref", "self", "a b", "ünï", "x/y", "class")
    schema = api(tuple(Parameter(name=name) for name in names)).parameters_schema()
    assert tuple(schema["properties"]) == names
    assert schema["required"] == list(names)


def test_choices_and_defaults_are_in_the_schema() -> None:
    parameter = Parameter(name="unit", type="ENUM", enum=("c", "f"), default="c")
    assert api((parameter,)).parameters_schema()["properties"]["unit"] == {
        "type": "string",
        "enum": ["c", "f"],
        "default": "c",
    }


@given(PARAMETERS, PARAMETERS)
def test_any_parameters_give_a_valid_schema_whose_defaults_fit(
    required: list[Parameter], optional: list[Parameter]
) -> None:
    schema = api(tuple(required), tuple(optional)).parameters_schema()
    jsonschema_rs.meta.validate(schema)
    assert len(set(schema["required"])) == len(schema["required"])
    assert set(schema["required"]) <= set(schema["properties"])
    for property_schema in schema["properties"].values():
        if "default" in property_schema:
            jsonschema_rs.validate(property_schema, property_schema["default"])


@given(st.sampled_from(TYPES), DEFAULTS)
def test_a_usable_default_is_of_its_type(kind: str, default: Any) -> None:
    value = usable_default(Parameter(name="p", type=kind, default=default))
    if value is not None:
        jsonschema_rs.validate({"type": json_type(kind)}, value)
