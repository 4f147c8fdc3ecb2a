"""Test sets with values written in Java or JavaScript. The leaderboard's own code in its wheel reads these."""

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
