"""The commands of other verifiers, as their readmes write them."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from support.bench import own_environment
from support.verification import rows, written_set
from support.warm import run_warm

from trialbed_scripted import ScriptedServer, serve

pytest.importorskip("trialbed_verifiers", reason="trialbed-verifiers is not installed: make .venv/.test")

FAULTS = '{"seed": 1, "answers": {"flips": 0.05, "gap": 0.002}}'
CASES = 12


async def run(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run, [sys.executable, *map(str, command)],
        cwd=folder, env=own_environment(OPENAI_API_KEY="k"), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


async def module(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m NAME``, which starts without the wait for its imports."""
    environment = own_environment(OPENAI_API_KEY="k")
    return await asyncio.to_thread(run_warm, name, arguments, cwd=folder, env=environment, timeout=120)


async def verified(folder: Path, server: ScriptedServer, output: str, *more: str) -> subprocess.CompletedProcess[str]:
    endpoint = ("--model", "gpt-4o", "--base-url", server.url, "--api-key", "k", "--output", output)
    return await module(folder, "vendor_verifier", "set.jsonl", *endpoint, "--summary", f"{output}.json", *more)


async def test_a_vendor_is_verified_and_compared_by_the_readmes_commands(tmp_path: Path) -> None:
    written_set(tmp_path / "set.jsonl", CASES, stream=True)
    async with serve(faults=FAULTS) as server:
        first = await verified(tmp_path, server, "one.jsonl", "--concurrency", "10")
        again = await verified(tmp_path, server, "one.jsonl")
        assert (first.returncode, again.returncode, server.met.total()) == (0, 0, 2 * CASES), again.stderr
        kept = await verified(tmp_path, server, "one.jsonl", "--incremental")
        assert (kept.returncode, server.met.total()) == (0, 2 * CASES), kept.stderr
    assert len(rows(tmp_path / "one.jsonl")) == CASES
    shutil.copy(tmp_path / "one.jsonl", tmp_path / "other.jsonl")
    files = ("--baseline", "one.jsonl", "--vendor", "other.jsonl")
    compared = await module(tmp_path, "vendor_verifier.compare", *files)
    assert json.loads(compared.stdout)["tool_call_trigger_similarity"]["f1"] == 1.0, compared.stderr
    silent = await module(tmp_path, "vendor_verifier.compare", *files, "--output", "found.json")
    assert silent.stdout == ""
    assert json.loads((tmp_path / "found.json").read_text())["tool_call_schema_accuracy"]


@pytest.mark.slow(10)
async def test_vendors_are_ranked_by_the_readmes_command_over_a_set_that_is_not_streamed(tmp_path: Path) -> None:
    written_set(tmp_path / "samples.jsonl", 4 * CASES, stream=False)
    async with serve(faults=FAULTS) as one, serve(faults=FAULTS) as other:
        lines = ["kimi-k2:", "  vendors:"]
        for name, server in (("official", one), ("other", other)):
            lines.append(
                f"    - {{name: {name}, url: '{server.url}', api_key: k, is_baseline: {str(server is one).lower()}}}"
            )
        (tmp_path / "config.yaml").write_text("\n".join(lines))
        options = ("--vendor-concurrency", 5, "--request-concurrency", 30, "--retries", 10, "--timeout", 30, "--json")
        files = ("--test-file-path", "samples.jsonl", "--config-file-path", "config.yaml")
        (script,) = entry_points(group="console_scripts", name="agent-vendor-verifier")
        module, _, function = script.value.partition(":")
        program = f"import sys; sys.argv[0] = '{script.name}'; from {module} import {function}; sys.exit({function}())"
        done = await run(tmp_path, "-c", program, *files, *options)
        met = one.met.total()
        again = await run(tmp_path, "-c", program, *files, *options)
        assert (done.returncode, again.returncode, one.met.total()) == (0, 0, met), done.stderr + again.stderr
    official = tmp_path / "data" / "kimi-k2_official_results.jsonl"
    assert len(official.read_text().splitlines()) == 4 * CASES, "the baseline is asked once, as in the original"
    ranks = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "rank").iterdir()}
    assert set(ranks) == {
        "avg_tokens", "avg_ttft_ms", "avg_throughput", "success_rate", "schema_accuracy", "f1_score", "irf_score",
        "irf_score_global",
    }  # fmt: skip
    assert ranks["success_rate"] == {"kimi-k2": {"official": 1.0, "other": 1.0}}
    assert set(ranks["irf_score"]["kimi-k2"]) == {"official", "other"}
    (ranking,) = json.loads(done.stdout)["ranking"]["models"]
    assert {row["vendor"] for row in ranking["ranked"]} == {"official", "other"}
