"""Suites with other names and values."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.verification import target, verified

from trialbed_scripted import serve
from trialbed_verify.documents import as_document
from trialbed_verify.suites import SUITES, write_test_set
from trialbed_verify.verification import TestSet
from trialbed_verify.views import verification_tables

Send = Callable[..., Awaitable[dict[str, Any]]]


def lines(path: Path, name: str, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    assert write_test_set([name], path, seed) == 2 * SUITES[name].size
    found = [json.loads(line) for line in path.read_text().split("\n") if line]
    return found[: len(found) // 2], found[len(found) // 2 :]


@pytest.mark.parametrize("name", list(SUITES))
def test_a_variant_has_the_same_cases_and_no_request_of_the_suite(name: str, tmp_path: Path) -> None:
    public, fresh = lines(tmp_path / "one.jsonl", name, 7)
    assert [line["suite"]["case"] for line in public] == [line["suite"]["case"] for line in fresh]
    assert {line["suite"]["name"] for line in fresh} == {f"{name}-fresh"}
    last = [(line["messages"], line["messages"][-1]) for line in public]
    asked = {
        json.dumps(messages) for messages, one in last if one.get("role") == "user" and isinstance(one["content"], str)
    }
    assert not asked & {json.dumps(line["messages"]) for line in fresh}
    for line in fresh:
        if "refusal" not in line["suite"]["expect"]:
            names = [tool["function"]["name"] for tool in line.get("tools", ())]
            assert len(set(names)) == len(names)
            assert {call["name"] for call in line["suite"]["answer"].get("calls", ())} <= set(names)
            assert set(line["suite"]["expect"].get("tool", ())) <= {*names}
    if name not in ("long-context", "refusals"):
        assert list(TestSet(tmp_path / "one.jsonl").faults()) == []


def test_a_seed_decides_what_a_variant_asks(tmp_path: Path) -> None:
    one, again, other = (lines(tmp_path / f"{place}.jsonl", "leaks", seed)[1] for place, seed in enumerate((7, 7, 8)))
    assert one == again != other


def test_a_place_is_another_in_text_and_arguments_alike(tmp_path: Path) -> None:
    public, fresh = lines(tmp_path / "set.jsonl", "triggering", 3)
    told = [
        (
            old["messages"][-1]["content"],
            new["messages"][-1]["content"],
            new["suite"]["answer"]["calls"][0]["arguments"],
        )
        for old, new in zip(public, fresh, strict=True)
        if old["suite"]["case"] == "get_weather-1"
    ]
    ((old, new, arguments),) = told
    assert "Bergen" in old
    assert "Bergen" not in new
    assert arguments["place"] in new


async def sent(folder: Path, name: str, known: str, every: int = 1) -> tuple[dict[str, Any], str]:
    """The summary of a suite and its variant, or of every so-many-th case, at a vendor that knows a file's answers."""
    file = folder / "both.jsonl"
    write_test_set([name], file, 11)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[::every]))
    write_test_set([name], folder / "public.jsonl")
    async with serve(faults=json.dumps({"answers": {"test_set": str(folder / known)}})) as server:
        (summary,) = await verified(file, target(server.url, folder), retries=0, fresh=True, request_concurrency=16)
    return as_document(summary.figures.suites), "\n".join(
        note for table in verification_tables([summary]) for note in table.notes
    )


async def test_a_vendor_that_knows_a_suite_by_heart_is_found(tmp_path: Path) -> None:
    found, printed = await sent(tmp_path, "schema-torture", "public.jsonl")
    assert found["schema-torture"]["score"]["value"] == 1
    gap = found["schema-torture"]["beyond_fresh"]
    assert gap["low"] > 0.2
    assert gap["p"] < 0.001
    assert "as if it knew the suite by heart" in printed


@pytest.mark.parametrize("name", [name for name in SUITES if name != "long-context"])
async def test_one_that_answers_rightly_is_as_good_at_both(name: str, tmp_path: Path) -> None:
    every = 4 if name == "triggering" else 1  # its two hundred cases are few kinds
    found, printed = await sent(tmp_path, name, "both.jsonl", every)
    for suite in (name, f"{name}-fresh"):
        assert (found[suite]["misses"], found[suite]["score"]["value"]) == ({}, 1)
        assert (found[suite]["rows"], found[suite]["scored"], found[suite]["cases"]) == (
            SUITES[name].size // every,
        ) * 3
    assert (found[name]["beyond_fresh"]["value"], found[name]["beyond_fresh"]["p"]) == (0, 1)
    assert "right as often with other names and values" in printed
