"""Files that cannot be written are refused before anything is sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.verification import target, verify, written_set

from trialbed.errors import UsageError
from trialbed_scripted import serve
from trialbed_verify.verification import Target

NOWHERE = "http://127.0.0.1:1/v1"


def results(folder: Path, output: str, name: str) -> Target:
    one = target(NOWHERE, folder)
    return replace(one, name=name, output=folder / output, summary=folder / f"{name}.json")


async def test_folders_are_made(tmp_path: Path) -> None:
    file = written_set(tmp_path / "set.jsonl", 1)
    async with serve() as server:
        one = target(server.url, tmp_path)
        await verify(file, replace(one, output=tmp_path / "a" / "results.jsonl", summary=tmp_path / "b" / "s.json"))
    assert (tmp_path / "a" / "results.jsonl").is_file()
    assert (tmp_path / "b" / "s.json").is_file()


@pytest.mark.parametrize("other", ["x.jsonl", "./x.jsonl", "b/../x.jsonl", "link"])
async def test_two_things_in_one_file_are_refused(other: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "x.jsonl")
    file = written_set(tmp_path / "set.jsonl", 1)
    with pytest.raises(UsageError, match="named both for the results of b and for the results of a"):
        await verify(file, results(tmp_path, "x.jsonl", "a"), results(tmp_path, other, "b"))


async def test_what_is_read_is_not_written(tmp_path: Path) -> None:
    file = written_set(tmp_path / "set.jsonl", 1)
    with pytest.raises(UsageError, match="named both for the results of a and for the test set"):
        await verify(file, results(tmp_path, "set.jsonl", "a"))


async def test_what_cannot_be_written_is_named_before_anything_is_paid_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = written_set(tmp_path / "set.jsonl", 1)
    with pytest.raises(UsageError, match=r"cannot be written: .*name another file for the results of a"):
        await verify(file, results(tmp_path, "file/results.jsonl", "a"))
    for place in (".", "/dev/null"):
        with pytest.raises(UsageError, match="not a regular file"):
            await verify(file, results(tmp_path, place, "a"))
