"""The leaderboard's rules for right calls in test sets with a single request, and its languages other than Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from trialbed.records import Parameter

READERS = "bfcl_eval.eval_checker.ast_eval.type_convertor"
MOST_CHARACTERS, MOST_LISTS = 2000, 16
"""Limits of a collection. Larger ones cannot be right, and the wheel's patterns would take very long to match them."""


@dataclass(frozen=True)
class Language:
    """A programming language for values.

    Attributes:
        name: its name in descriptions.
        reader: the module of the wheel that reads its values, and the function there.
        table: the name of the table of types in that module.
        lists: the types that have items.
        quoted: the types with quotation marks around their values in a list.
        suffixes: maps types to the suffix of their numbers.
    """

    name: str
    reader: str
    table: str
    lists: tuple[str, ...]
    quoted: tuple[str, ...]
    suffixes: Mapping[str, str]

    @property
    def types(self) -> Mapping[str, type]:
        """The Python types for the values of each type."""
        found: Mapping[str, type] = getattr(import_module(f"{READERS}.{self.reader}"), self.table)
        return found

    @property
    def hint(self) -> str:
        """The end of the descriptions of functions."""
        version = "Java 8 SDK" if self is JAVA else self.name
        return f" Note that the provided function is in {version} syntax."

    def read(self, text: str, kind: str, inner: str | None) -> Any:
        """Return the value of a text. The text itself is returned if it does not fit the type.

        Raises:
            ValueError, NotImplementedError: the type is not known.
        """
        if self.types[kind] in (list, dict):
            text = re.sub(r"\s+", " ", text)
            if len(text) > MOST_CHARACTERS or text.count("[") > MOST_LISTS:
                return text
        convert = getattr(import_module(f"{READERS}.{self.reader}"), self.reader)
        return convert(text, kind, inner) if kind in self.lists else convert(text, kind)

    def parameter(self, name: str, about: Mapping[str, Any]) -> Parameter:
        """Return a parameter that takes the source of a value."""
        kind = about["type"]
        words = [about.get("description", "")]
        if kind == "any":
            words.append(f"This parameter can be of any type of {self.name} object in string representation.")
        else:
            words.append(f"This is {self.name} {kind} type parameter in string representation.")
        if kind in self.lists:
            inner = about["items"]["type"]
            words.append(f"The list elements are of type {inner}; they are not in string representation.")
        if "properties" in about:
            inside = json.dumps(about["properties"], ensure_ascii=False)
            words.append(
                f"The dictionary entries have the following schema; they are not in string representation. {inside}"
            )
        return Parameter(name=name, description=" ".join(filter(None, words)))

    def source(self, value: Any, about: Mapping[str, Any]) -> str:
        """Return the source of a parameter's value."""
        kind = about["type"]
        inner = about["items"]["type"] if kind in self.lists else ""
        if isinstance(value, list):
            # The reader of Java arrays keeps quotation marks.
            quoted = () if kind == "Array" else self.quoted
            return self._list([self._item(item, inner, quoted) for item in value], kind)
        if isinstance(value, dict):
            return self._map(value)
        return self._plain(value, kind)

    def _item(self, value: Any, inner: str, quoted: Sequence[str]) -> str:
        if isinstance(value, dict):
            return self._map(value)
        return json.dumps(value, ensure_ascii=False) if inner in quoted else self._plain(value, inner)

    def _list(self, items: Sequence[str], kind: str) -> str:
        inside = ", ".join(items)
        if kind == "ArrayList":
            return f"new ArrayList<>(Arrays.asList({inside}))" if items else "new ArrayList<>()"
        return f"new Object[]{{{inside}}}" if kind == "Array" else f"[{inside}]"

    def _map(self, value: Mapping[str, Any]) -> str:
        entries = {key: json.dumps(item, ensure_ascii=False) for key, item in value.items()}
        if self is JAVA:
            puts = " ".join(f'put("{key}", {item});' for key, item in entries.items())
            return f"new HashMap<String, Object>() {{{{ {puts} }}}}"
        return f"{{{', '.join(f'{key}: {item}' for key, item in entries.items())}}}"

    def _plain(self, value: Any, kind: str) -> str:
        return value if isinstance(value, str) else json.dumps(value) + self.suffixes.get(kind, "")


JAVA = Language(
    name="Java",
    reader="java_type_converter",
    table="JAVA_TYPE_CONVERSION",
    lists=("Array", "ArrayList"),
    quoted=("String", "char"),
    suffixes={"long": "L", "float": "f"},
)
JAVASCRIPT = Language(
    name="JavaScript",
    reader="js_type_converter",
    table="JS_TYPE_CONVERSION",
    lists=("array",),
    quoted=("String",),
    suffixes={"Bigint": "n"},
)

LANGUAGES: Mapping[str, Language] = {"simple_java": JAVA, "simple_javascript": JAVASCRIPT}
"""Maps test sets to the language of their values."""


Call = tuple[str, Mapping[str, Any]]
"""A function's name, and the arguments."""

TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
NESTED = ("array", "tuple")
IGNORED = re.compile(r"[ ,./\-_*^]")


def problem_of(
    category: str, functions: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], calls: Sequence[Call]
) -> str:
    """Explain why calls are wrong; empty if they are right.

    Args:
        category: the test set, such as ``live_parallel_multiple``.
        functions: the offered functions in the leaderboard's format.
        answers: the function's name and the possible values of each parameter, for each call.
        calls: the model's calls, in order.
    """
    if "irrelevance" in category:
        return "no function is needed, but one was called" if calls else ""
    if "relevance" in category:
        return "" if calls else "no function was called"
    if len(calls) != len(answers):
        return f"{len(calls)} calls instead of {len(answers)}"
    described = {function["name"]: function for function in functions}
    try:
        if "parallel" in category:
            return _in_any_order(described, answers, calls)
        return _call(described[next(iter(answers[0]))], answers[0], calls[0], LANGUAGES.get(category))
    except (AttributeError, ImportError, IndexError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        return f"the calls cannot be compared with the answer: {error!r}"


def _in_any_order(
    described: Mapping[str, Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], calls: Sequence[Call]
) -> str:
    """Assign to each answer the first remaining call that fits."""
    left = list(calls)
    for answer in answers:
        function = described[next(iter(answer))]
        problems = [_call(function, answer, call) for call in left]
        if "" not in problems:
            return f"no call is right for {function['name']}: {'; '.join(problems)}"
        del left[problems.index("")]
    return ""


def _call(function: Mapping[str, Any], answer: Mapping[str, Any], call: Call, language: Language | None = None) -> str:
    name, arguments = call
    allowed = next(iter(answer.values()))
    if name != function["name"]:
        return f"{name} is called instead of {function['name']}"
    properties = function["parameters"]["properties"]
    missing = [parameter for parameter in function["parameters"]["required"] if parameter not in arguments]
    if missing:
        return f"{missing[0]} is missing"
    for parameter, value in arguments.items():
        if parameter not in properties or parameter not in allowed:
            return f"{parameter} is not expected"
        if not _is_right(properties[parameter], allowed[parameter], value, language):
            return f"{parameter}: {value!r} is not one of {allowed[parameter]!r}"
    lacking = [parameter for parameter, values in allowed.items() if parameter not in arguments and "" not in values]
    return f"{lacking[0]} is missing" if lacking else ""


def _is_right(described: Mapping[str, Any], allowed: Sequence[Any], value: Any, language: Language | None) -> bool:
    kind = described["type"]
    types, lists = (language.types, language.lists) if language else (TYPES, NESTED)
    expected = types[kind]
    of_items = described["items"]["type"] if kind in lists else None
    inner = types[of_items] if of_items else None
    if language is not None:
        if not isinstance(value, str):
            return False
        value = language.read(value, kind, of_items)
    elif kind == "float" and type(value) is int:
        value = float(value)
    typed, otherwise = _check_type(value, allowed, expected, inner)
    if not typed:
        return False
    if otherwise:
        return value in allowed
    if expected is dict:
        return any(_fits(value, answer) for answer in allowed if answer != "")
    if expected is list and inner is dict:
        return any(_are_dicts(value, answer) for answer in allowed)
    if expected is str:
        return _plain(value) in [_plain(answer) for answer in allowed if isinstance(answer, str)]
    if expected is list:
        return [_plain(item) for item in value] in [[_plain(item) for item in answer] for answer in allowed]
    return value in allowed


def _check_type(value: Any, allowed: Sequence[Any], expected: type, inner: type | None) -> tuple[bool, bool]:
    """Return whether the type of a value is right, and whether it differs from the described type."""
    answered = next((type(answer) for answer in allowed if answer != ""), None)
    otherwise = answered is not None and answered is not expected
    if type(value) is expected and (inner is None or any(_all_typed(value, answer, inner) for answer in allowed)):
        return True, otherwise
    return answered is not None and type(value) is answered, True


def _all_typed(value: Any, answer: Any, inner: type) -> bool:
    return type(answer) is not list or all(_check_type(item, answer, inner, None)[0] for item in value)


def _are_dicts(value: Sequence[Any], answer: Any) -> bool:
    return len(value) == len(answer) and all(
        answered != "" and _fits(item, answered) for item, answered in zip(value, answer, strict=True)
    )


def _fits(value: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    given = all(key in answer and _plain(item) in [_plain(one) for one in answer[key]] for key, item in value.items())
    return given and all(key in value or "" in values for key, values in answer.items())


def _plain(value: Any) -> Any:
    return IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
