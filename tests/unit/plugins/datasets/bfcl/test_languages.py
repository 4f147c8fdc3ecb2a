from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from support.cases import for_each

from trialbed_plugins.datasets.bfcl import problem_of
from trialbed_plugins.datasets.bfcl._languages import JAVA, JAVASCRIPT, READERS, Language
from trialbed_plugins.datasets.bfcl._source import query_of

STRINGS = {"type": "ArrayList", "items": {"type": "String"}}


@for_each(
    ("language", "about", "value", "source"),
    [
        (JAVA, {"type": "integer"}, 5, "5"),
        (JAVA, {"type": "long"}, 5, "5L"),
        (JAVA, {"type": "float"}, 2.5, "2.5f"),
        (JAVA, {"type": "double"}, 2.5, "2.5"),
        (JAVA, {"type": "boolean"}, True, "true"),
        (JAVA, {"type": "any"}, "mapController", "mapController"),
        (JAVA, STRINGS, ["a", "b"], 'new ArrayList<>(Arrays.asList("a", "b"))'),
        (JAVA, STRINGS, [], "new ArrayList<>()"),
        (JAVA, STRINGS | {"type": "Array"}, ["a", "b"], "new Object[]{a, b}"),
        (JAVA, {"type": "Array", "items": {"type": "long"}}, [1], "new Object[]{1L}"),
        (
            JAVA,
            {"type": "HashMap"},
            {"a": "x", "b": 1},
            'new HashMap<String, Object>() {{ put("a", "x"); put("b", 1); }}',
        ),
        (JAVASCRIPT, {"type": "Bigint"}, 5, "5n"),
        (JAVASCRIPT, {"type": "float"}, 4.0, "4.0"),
        (JAVASCRIPT, {"type": "Boolean"}, False, "false"),
        (JAVASCRIPT, STRINGS | {"type": "array"}, ["a"], '["a"]'),
        (JAVASCRIPT, {"type": "array", "items": {"type": "dict"}}, [{"a": 1}], "[{a: 1}]"),
    ],
)
def test_right_values_are_written_as_source(language: Language, about: Any, value: Any, source: str) -> None:
    assert language.source(value, about) == source


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What a stand-in for the wheel's reader of Java is asked; it reads numbers only."""
    found: list[tuple[str, ...]] = []

    def java_type_converter(text: str, *kinds: str) -> Any:
        found.append((text, *kinds))
        return int(text) if text.isdigit() else text

    module = ModuleType(f"{READERS}.java_type_converter")
    module.java_type_converter = java_type_converter  # type: ignore[attr-defined]
    module.JAVA_TYPE_CONVERSION = {"integer": int, "ArrayList": list}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return found


ROW = {
    "id": "simple_java_0",
    "question": [[{"role": "user", "content": "Wait five seconds"}]],
    "function": [
        {
            "name": "Timer.wait",
            "description": "Waits.",
            "parameters": {
                "type": "dict",
                "properties": {
                    "seconds": {"type": "integer", "description": "How long."},
                    "names": STRINGS,
                    "what": {"type": "any"},
                },
                "required": ["seconds"],
            },
        }
    ],
    "answers": [{"Timer.wait": {"seconds": [5], "names": ["", ["a"]]}}],
}


def test_parameters_take_the_source_of_values() -> None:
    query = query_of(ROW)
    (api,) = query.apis
    schema = api.parameters_schema()["properties"]
    assert api.description == "Waits. Note that the provided function is in Java 8 SDK syntax."
    assert {about["type"] for about in schema.values()} == {"string"}
    assert schema["seconds"]["description"] == "How long. This is Java integer type parameter in string representation."
    assert "elements are of type String" in schema["names"]["description"]
    assert schema["what"]["description"].startswith("This parameter can be of any type of Java object")
    assert query.gold_calls[0].arguments == {"seconds": "5", "names": 'new ArrayList<>(Arrays.asList("a"))'}


@pytest.mark.parametrize(
    ("arguments", "right"), [({"seconds": "5"}, True), ({"seconds": "6"}, False), ({"seconds": 5}, False)]
)
def test_values_are_read_before_they_are_compared(asked: Any, arguments: Any, right: bool) -> None:
    found = problem_of("simple_java", ROW["function"], ROW["answers"], [("Timer.wait", arguments)])  # type: ignore[arg-type]
    assert (not found) is right
    assert asked == ([(arguments["seconds"], "integer")] if isinstance(arguments["seconds"], str) else [])


@pytest.mark.parametrize("text", ["[" * 17, "x" * 2001])
def test_collections_that_no_reader_would_end_with_are_not_read(asked: Any, text: str) -> None:
    assert JAVA.read(text, "ArrayList", "String") == text
    assert asked == []
    assert JAVA.read("a \n b", "ArrayList", "String") == "a b"
    assert asked == [("a b", "ArrayList", "String")]
