from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_verify.suites import EXPECTATIONS, SUITES, suite, write_test_set
from trialbed_verify.verification import TestSet

DIGESTS = {
    "triggering": "077bc988a0b36e8f",
    "constraints": "87bb89602fa02301",
    "refusals": "493fb4c7914b2385",
    "leaks": "e5a33436eabf1660",
    "schema-torture": "42f5c98df0554959",
    "multi-turn": "3cba4325b3013edd",
    "long-context": "006fc360bc878fb5",
    "parameters": "70704d4893421d3d",
}
"""The beginnings of the SHA-256 of the test sets: results of another test set are not compared."""


@for_each("name", list(SUITES))
def test_a_suite_is_always_the_same_and_names_its_cases(name: str) -> None:
    first, again = list(SUITES[name].cases()), list(SUITES[name].cases())
    assert json.dumps(first) == json.dumps(again)
    assert len({line["suite"]["case"] for line in first}) == len(first) == SUITES[name].size
    for line in first:
        assert line["suite"]["name"] == name
        assert set(line["suite"]["expect"]) <= set(EXPECTATIONS)
        if "refusal" in line["suite"]["expect"]:
            continue
        tools = [tool["function"]["name"] for tool in line.get("tools", ())]
        assert len(set(tools)) == len(tools) <= 128
        for call in line["suite"]["answer"].get("calls", ()):
            assert call["name"] in tools


def test_a_suite_has_the_same_bytes_on_every_machine_until_it_is_changed_on_purpose(tmp_path: Path) -> None:
    found = {}
    for name in SUITES:
        write_test_set([name], tmp_path / name)
        found[name] = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()[:16]
    assert found == DIGESTS


def test_no_schema_of_a_suite_is_unusable(tmp_path: Path) -> None:
    names = [name for name in SUITES if name not in ("long-context", "refusals")]
    write_test_set(names, tmp_path / "all.jsonl")
    cases = TestSet(tmp_path / "all.jsonl")
    assert (len(cases), cases.bad_lines) == (sum(SUITES[name].size for name in names), [])
    assert cases.faults == []


def test_a_name_that_is_repeated_counts_once(tmp_path: Path) -> None:
    for name, names in (("one", ["leaks"]), ("two", ["leaks", "leaks"])):
        write_test_set(names, tmp_path / name)
    digests = {hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("one", "two")}
    assert len(digests) == 1


def test_an_unknown_suite_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"there is no suite 'leak'; did you mean 'leaks'"):
        suite("leak")


def test_the_tools_of_long_contexts_are_about_as_long_as_they_say() -> None:
    for line in SUITES["long-context"].cases():
        tokens = len(json.dumps(line["tools"])) / 4
        assert tokens == pytest.approx(line["suite"]["by"]["tokens"], rel=0.15)
