"""Read JSON, JSON Lines and YAML, with errors that name the line or key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from trialbed.errors import DataError
from trialbed.files import read_text
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
