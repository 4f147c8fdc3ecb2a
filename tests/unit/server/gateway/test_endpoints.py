"""The models that requests name."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed_server.gateway.endpoints import foreign_model, with_model

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@for_each(
    ("body", "expected"),
    [
        (b'{ "model" :\t"told",  "x": [1, 2.50] }\n', b'{ "model" :\t"own",  "x": [1, 2.50] }\n'),
        (b'{"a":{"model":"told"},"model":"told"}', b'{"a":{"model":"told"},"model":"own"}'),
        (b'{"mod\\u0065l":"t\\u006fld","n":1e999}', b'{"mod\\u0065l":"own","n":1e999}'),
        (b'{"model":"told","model":"told"}', b'{"model":"own","model":"own"}'),
    ],
)
def test_only_the_name_changes(body: bytes, expected: bytes) -> None:
    assert with_model(body, "told", "own") == expected


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4), st.text(), st.text(), st.sampled_from([None, 1]))
def test_all_else_stays_as_it_was(fields: dict[str, object], told: str, own: str, indent: int | None) -> None:
    body = json.dumps({**fields, "model": told}, indent=indent, ensure_ascii=False).encode()
    if told == own:
        return
    changed = with_model(body, told, own)
    assert json.loads(changed) == {**json.loads(body), "model": own}
    assert len(changed) - len(json.dumps(own)) == len(body) - len(json.dumps(told, ensure_ascii=False).encode())


@for_each(
    ("body", "expected"),
    [
        (b'{"model":"told","messages":[{"model":"other"}]}', None),
        (b'{"messages":[]}', None),
        (b' {"model":"own"} ', None),
        (b'{"model":"other"}', "other"),
        (b'{"model":"told","model":"other"}', "other"),
        (b'{"model":"other","model":"told"}', "other"),
        (b'{"model":"told","Model":"other"}', "other"),
        (b'{"mod\\u0065l":"other"}', "other"),
        (b'{"model":"told","models":["told","other"]}', "other"),
        (b'{"model":"told","fallbacks":[{"told":["other"]}]}', "other"),
        (b'{"model":["other"]}', '["other"]'),
    ],
)
def test_other_models_are_found_in_every_spelling_that_a_server_reads(body: bytes, expected: str | None) -> None:
    assert foreign_model(body, {"told", "own"}) == expected
    usual = json.loads(body).get("model")
    assert foreign_model(body, {"told", "own"}, usual if isinstance(usual, str) else "") == expected


@for_each(
    "body",
    [b"", b" ", b"{", b"[]", b'"told"', b'{"model"', b'{"model":', b'{"model":"told', b"\xff", b"{1:2}",
     b'{"model":"told"} {"model":"other"}', b'{"model":"told" "x":1}', b"[" * 100_000, b'{"a":' + b"[" * 100_000,
     '{"model":"told"}'.encode("utf-16"), '{"model":"told"}'.encode("utf-16-le"), b"\xef\xbb\xbf{}"],
)  # fmt: skip
def test_a_body_that_cannot_be_read_names_no_model_that_can_be_trusted(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        foreign_model(body, {"told"})
    # A reader that takes any encoding finds a model in some of them.
    with contextlib.suppress(ValueError, RecursionError, AttributeError):
        usual = json.loads(body).get("model", "")
        with pytest.raises(ValueError, match=r".+"):
            foreign_model(body, {"told"}, usual)
