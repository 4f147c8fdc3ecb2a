from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from trialbed.errors import DataError
from trialbed_verify.verification import TestSet


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


def test_schemas_that_cannot_be_used_are_found_once(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "int"}}}
    lines = {"tools": []}, {"tools": [tool]}, {"tools": [tool], "x": 1}
    cases = TestSet(written(tmp_path / "s.jsonl", *({"messages": [], **more} for more in lines)))
    ((index, name, fault),) = cases.faults
    assert (index, name) == (2, "f")
    assert "int" in fault


@pytest.mark.parametrize("content", ["", "\n\n", "{oops\n"])
def test_a_file_without_requests_is_an_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=r"s\.jsonl: contains no requests"):
        TestSet(path)


def test_where_no_line_is_a_request_the_first_one_says_why(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n[1]\n{oops\n")
    with pytest.raises(DataError, match=r"\(line 2: not a JSON object\)"):
        TestSet(path)


def test_a_pipe_is_refused_as_it_cannot_be_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(DataError, match="pipe: not a regular file"):
        TestSet(path)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        TestSet(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "odd", ["1e16", "0.00001", "1e400", "-0.0", "1180591620717411303424", '"\\ud800"', '"é\u2028"', "0.1"]
)
def test_an_identity_is_that_of_canonical_json(odd: str, tmp_path: Path) -> None:
    with TestSet(written(tmp_path / "s.jsonl", f'{{"z": {odd}, "messages": [], "a": 7.0}}')) as cases:
        (case,) = cases
    text = json.dumps(case.body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert case.identity == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def test_a_misspelt_expectation_is_no_case_and_is_named(tmp_path: Path) -> None:
    right = {"messages": [], "suite": {"name": "own", "expect": {"calls": True}}}
    wrong = {"messages": [], "suite": {"name": "own", "expect": {"call": True}}}
    cases = TestSet(written(tmp_path / "s.jsonl", right, wrong))
    assert len(cases) == 1
    ((line, reason),) = cases.bad_lines
    assert line == 2
    assert "unknown expectation 'call'; did you mean 'calls'?" in reason
