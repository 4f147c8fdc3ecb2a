"""Reads requests to the virtual API."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel, ValidationError

from trialbed.wire import json_decoder

PARSE_ERROR = "Tool input parse error...\n"
"""StableToolBench's answer to an input that is not JSON."""


class VirtualRequest(NamedTuple):
    """A request for one answer: the Api as named by the client, and the input as sent."""

    category: str
    tool_name: str
    api_name: str
    tool_input: str | dict[str, Any]


class MalformedRequest(Exception):
    """The body is not a request; ``detail`` says where, in FastAPI's form."""

    def __init__(self, detail: list[dict[str, Any]]) -> None:
        super().__init__(detail)
        self.detail = detail


class InputError(Exception):
    """The input is a text that is not JSON."""


class _Fields(BaseModel):
    category: str
    tool_name: str
    api_name: str
    tool_input: str | dict[str, Any]
    strip: str
    toolbench_key: str


def parse_request(body: bytes) -> VirtualRequest:
    """Read a body of StableToolBench's six fields.

    Raises:
        MalformedRequest: it is not JSON, or a field is missing or of another type.
    """
    data = parse_json(body)
    if not _is_plain(data):
        _explain(data)
    if b"\\u" in body:
        _check_characters(data)
    return VirtualRequest(data["category"], data["tool_name"], data["api_name"], data["tool_input"])


def parse_json(body: bytes) -> Any:
    """Read a body of JSON.

    Raises:
        MalformedRequest: it is not JSON, or Python cannot hold it.
    """
    try:
        return _decode_body(body)
    except (ValueError, RecursionError) as error:
        raise MalformedRequest([_invalid_json(error)]) from error


def parse_input(tool_input: str | dict[str, Any]) -> Any:
    """The input as a JSON value; the empty text is an empty object.

    Raises:
        InputError: it is a text that is not JSON.
    """
    if not isinstance(tool_input, str):
        return tool_input
    try:
        return _decode(tool_input) if tool_input else {}
    except (ValueError, RecursionError) as error:
        raise InputError(PARSE_ERROR) from error


_decode = json_decoder().decode
_LONG_NUMBER = re.compile(rb"\d{19}").search


def _decode_body(body: bytes) -> Any:
    # The fast reader takes integers beyond 64 bits for floats, refuses some texts that are JSON, and says less about
    # those that are not.
    try:
        return orjson.loads(body) if _LONG_NUMBER(body) is None else _decode(body.decode())
    except orjson.JSONDecodeError:
        return _decode(body.decode())


def _is_plain(data: Any) -> bool:
    # The usual request, checked without the cost of a model.
    return (
        type(data) is dict
        and type(data.get("category")) is str
        and type(data.get("tool_name")) is str
        and type(data.get("api_name")) is str
        and type(data.get("tool_input")) in (str, dict)
        and type(data.get("strip")) is str
        and type(data.get("toolbench_key")) is str
    )


def _explain(data: Any) -> None:
    try:
        _Fields.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        if not isinstance(data, dict):
            found[0]["msg"] = "Input should be a valid dictionary"
        raise MalformedRequest([{**problem, "loc": ["body", *problem["loc"]]} for problem in found]) from error


def _check_characters(data: dict[str, Any]) -> None:
    # An escape can name half a character, which no record can be written with.
    halves = [name for name in ("category", "tool_name", "api_name") if not _is_utf8(data[name])]
    if halves:
        message = "Input should be a valid string, this one holds half of a surrogate pair"
        kind = {"type": "string_unicode", "msg": message, "input": None}
        raise MalformedRequest([{**kind, "loc": ["body", name]} for name in halves])


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid_json(error: Exception) -> dict[str, Any]:
    place = [error.pos] if isinstance(error, json.JSONDecodeError) else []
    return {"type": "json_invalid", "loc": ["body", *place], "msg": f"JSON decode error: {error}", "input": {}}
