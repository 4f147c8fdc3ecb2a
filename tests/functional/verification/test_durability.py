"""No answer that was paid for is lost, whenever the process dies."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest
from support.servers import until
from support.verification import rows, store_in, stored, target, verify, written_set

from trialbed.store import open_store
from trialbed_scripted import serve
from trialbed_verify.verification.row import row_lines

pytestmark = pytest.mark.slow(20)

CASES = 60
CONCURRENCY = 3
UNCOMMITTED = 20
"""Answers that may wait to be committed when a process is killed."""
SLOWLY = '{"answers": {"gap": 0.005}}'
VERY_SLOWLY = '{"answers": {"gap": 0.05}}'
FOR_EVER = '{"answers": {"gap": 1}}'


def port_of(url):
    return int(url.split(":")[2].split("/")[0])


def exported(run):
    (label,) = run.config.frameworks
    return b"".join(row_lines(run, label))


async def ended(process):
    out, err = await asyncio.to_thread(process.communicate, None, 60)
    return process.returncode, out, err


async def test_killed_anywhere_it_goes_on_from_there(tmp_path, command):
    file = written_set(tmp_path / "set.jsonl", CASES, stream=True)
    results = tmp_path / "results.jsonl"
    kills = (1, 23)
    async with serve(faults=SLOWLY) as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url, "-j", CONCURRENCY)
        for kill_at in kills:
            process = command(*arguments)
            await until(lambda least=kill_at: stored(tmp_path) >= least)
            process.send_signal(signal.SIGKILL)
            await ended(process)
        code, _, error = await ended(command(*arguments, "--json"))
    assert code == 0, error
    found = rows(results)
    assert [row["data_index"] for row in found] == list(range(1, CASES + 1))
    assert {row["status"] for row in found} == {"success"}
    assert server.met.total() <= CASES + len(kills) * (CONCURRENCY + UNCOMMITTED)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["success_count"], summary["case_count"]) == (CASES, CASES)


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_killed_while_the_file_is_brought_into_order_nothing_is_lost(tmp_path, moment):
    file = written_set(tmp_path / "set.jsonl", CASES, stream=True)
    results = tmp_path / "results.jsonl"
    program = f"""
import os, signal, sys
from trialbed.cli import main
replace = os.replace
def killing(source, target):
    if str(target).endswith("results.jsonl"):
        {"replace(source, target)" if moment == "after" else "pass"}
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
os.replace = killing
sys.exit(main(sys.argv[1:]))
"""
    async with serve() as server:
        arguments = ["verify", str(file), "--model", "m", "--base-url", server.url, "--api-key", "sk-test-000000"]
        killed = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", program, *arguments], cwd=tmp_path, capture_output=True, check=False
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert stored(tmp_path) == CASES
        (summary,) = await verify(file, target(server.url, tmp_path))
    assert server.met.total() == CASES
    assert summary["success_count"] == CASES
    assert [row["data_index"] for row in rows(results)] == list(range(1, CASES + 1))


@pytest.mark.parametrize("change", [{"temperature": 0.5}, {"extra_body": {"top_p": 0.9}}, {"max_tokens": 7}])
async def test_answers_of_another_configuration_are_not_used_and_stay(change, tmp_path):
    file = written_set(tmp_path / "set.jsonl", 3)
    async with serve() as server:
        await verify(file, target(server.url, tmp_path))
        before = (tmp_path / "results.jsonl").read_bytes()
        await verify(file, target(server.url, tmp_path, **change), incremental=True)
        assert server.met.total() == 6
    with open_store(str(store_in(tmp_path))) as reader:
        _, first = reader.runs()
        assert exported(first) == before


async def test_results_that_no_store_has_are_not_replaced_unasked(tmp_path, bench):
    file = written_set(tmp_path / "set.jsonl", 3)
    foreign = '{"data_index": 1, "status": "success"}\n'
    (tmp_path / "results.jsonl").write_text(foreign)
    async with serve() as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url)
        assert "--fresh" in (await bench(*arguments, code=2)).err
        assert (tmp_path / "results.jsonl").read_text() == foreign
        assert server.met.total() == 0
        await bench(*arguments, "--fresh")
    assert len(rows(tmp_path / "results.jsonl")) == 3


async def test_two_processes_do_not_write_to_one_file(tmp_path, command):
    file = written_set(tmp_path / "set.jsonl", 20, stream=True)
    async with serve(faults=FOR_EVER) as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url)
        first = command(*arguments, "-j", 1)
        await until(lambda: stored(tmp_path) >= 1)
        code, _, error = await ended(command(*arguments))
        assert (code, "another process" in error) == (2, True)
        first.send_signal(signal.SIGTERM)
        assert (await ended(first))[0] == 130


async def test_ctrl_c_keeps_what_there_is_and_says_how_to_go_on(tmp_path, command):
    file = written_set(tmp_path / "set.jsonl", CASES, stream=True)
    async with serve(faults=VERY_SLOWLY) as server:
        arguments = ("verify", file, "--model", "m", "--base-url", server.url)
        process = command(*arguments, "-j", CONCURRENCY)
        await until(lambda: stored(tmp_path) >= 10)
        process.send_signal(signal.SIGTERM)
        code, _, error = await ended(process)
        kept = len(rows(tmp_path / "results.jsonl"))
        assert code == 130, error
        assert "the same command continues from there" in error
        assert kept >= 10
        summary = json.loads((tmp_path / "summary.json").read_text())
        assert summary["case_count"] == kept
        assert summary["case_count"] + summary["not_sent"] == CASES
    async with serve(port=port_of(server.url)) as server:
        assert (await ended(command(*arguments)))[0] == 0
    assert len(rows(tmp_path / "results.jsonl")) == CASES
