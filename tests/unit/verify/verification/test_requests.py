"""Cases of a test set, and the requests that are made of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed_verify.verification import RequestSettings, TestSet, endpoint_target
from trialbed_verify.verification.targets import PreparedRequest


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_a_case_is_known_by_its_line_and_its_content(tmp_path: Path) -> None:
    first, second = {"messages": [], "a": 1}, {"a": 1, "messages": []}
    with TestSet(written(tmp_path / "s.jsonl", first, "", second, {"messages": [1]}, "  ", first)) as cases:
        found = list(cases)
    assert [case.index for case in found] == [1, 3, 4, 6]
    assert [case.body for case in found] == [first, second, {"messages": [1]}, first]
    digest = found[0].identity
    assert [case.identity for case in found] == [digest, f"{digest}#2", found[2].identity, f"{digest}#3"]
    assert len(digest) == 64


def test_lines_that_are_no_requests_are_named_and_are_no_cases(tmp_path: Path) -> None:
    odd = {"foo": 1}, {"messages": "hi"}, {"messages": [], "tools": "no"}
    cases = TestSet(written(tmp_path / "s.jsonl", {"messages": []}, "{oops", "[1]", {"messages": [2]}, *odd))
    assert len(cases) == 2
    assert [(line, reason.partition(":")[0]) for line, reason in cases.bad_lines] == [
        (2, "not JSON"),
        (3, "not a JSON object"),
        (5, "not a request"),
        (6, "messages is not a list"),
        (7, "tools is not a list"),
    ]


@pytest.mark.parametrize(
    "odd", ["1e16", "0.00001", "1e400", "-0.0", "1180591620717411303424", '"\\ud800"', '"é\u2028"', "0.1"]
)
def test_an_identity_is_that_of_canonical_json(odd: str, tmp_path: Path) -> None:
    with TestSet(written(tmp_path / "s.jsonl", f'{{"z": {odd}, "messages": [], "a": 7.0}}')) as cases:
        (case,) = cases
    text = json.dumps(case.body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert case.identity == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


LINE = {"messages": [{"role": "user", "content": "hé"}], "tools": [{"type": "function"}], "temperature": 0.3}


def prepared(line: dict[str, Any] = LINE, model_type: str | None = None, **settings: Any) -> PreparedRequest:
    chosen = RequestSettings(model=settings.pop("model", "m"), **settings)
    return endpoint_target("http://x", "k", chosen, model_type, Path("r.jsonl"), Path("s.json")).prepare(line)


def test_a_line_is_sent_as_it_is_but_for_the_model() -> None:
    assert prepared().request == {**LINE, "model": "m"}
    assert "model" not in LINE


@for_each(
    ("given", "sent"),
    [
        (None, {"include_usage": True}),
        ({"include_usage": False}, {"include_usage": False}),
        ({"x": 1}, {"include_usage": True, "x": 1}),
        ("odd", {"include_usage": True}),
    ],
)
def test_a_stream_is_asked_for_its_usage_unless_the_line_says_otherwise(given: Any, sent: Any) -> None:
    line = {**LINE, "stream": True} | ({"stream_options": given} if given is not None else {})
    assert prepared(line).request["stream_options"] == sent


def test_the_extra_body_wins_and_is_no_part_of_the_request() -> None:
    made = prepared(extra_body={"temperature": 1.0, "provider": {"only": ["x"]}})
    assert made.request["temperature"] == 0.3
    assert made.sent == {**made.request, "temperature": 1.0, "provider": {"only": ["x"]}}


@for_each("model", ["kimi-k2", "Moonshot-v1", "moonshotai/Kimi-K2"])
def test_kimi_models_get_their_roles_and_blank_reasoning(model: str) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "1"}]}
    line = {"messages": [{"role": "_input", "content": "x"}, call, {**call, "reasoning_content": "hm"}]}
    messages = prepared(line, model=model).request["messages"]
    assert messages == [
        {"role": "system", "content": "x"},
        {**call, "reasoning_content": " "},
        {**call, "reasoning_content": "hm"},
    ]
    assert line["messages"][0]["role"] == "_input"


ODD_VALUES = (1e16, 1e-5, 1e400, -0.0, 2**70, "\ud800", "é\u2028\x7f", None, {"b": [1.5, 0.1], "a": {}})


@for_each("odd", ODD_VALUES, ids=repr)
def test_the_hash_is_that_of_k2_style_tools_whatever_the_tools_hold(odd: Any) -> None:
    request = prepared({**LINE, "tools": [{"z": odd, "a": "x"}], "odd": odd}).request
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    wanted = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    assert prepared({**LINE, "tools": [{"z": odd, "a": "x"}], "odd": odd}).digest == wanted
