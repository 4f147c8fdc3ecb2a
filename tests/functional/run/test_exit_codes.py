"""What the command tells its caller."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.bench import Bench


def unused_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_bare_run_needs_nothing(bench_environment: dict[str, str], tmp_path: Path) -> None:
    """Of all tasks ``tests/packaging/test_installed.py`` runs it."""
    # A checkout in the working directory has the package's name, and hides it from no process: all are real ones.
    (tmp_path / "trialbed").mkdir()
    command = (Path(sys.executable).with_name("bench"), "run")
    variables = bench_environment | {"TRIALBED_LIMIT": "3"}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
    assert "reference" in done.stdout
    document = json.loads((tmp_path / "results" / "tools" / "reference_mini.json").read_text())
    assert document["summary"]["total_queries"] == 3
    assert document["summary"]["average_api_call_score"] == 1.0
    assert document["summary"]["solved_percentage"] == 100.0
    assert "[3/3]" in done.stderr


def test_results_go_to_stdout_and_progress_to_stderr_and_a_score_that_is_reached_is_0(bench: Bench) -> None:
    done = bench("run", "--limit", 1, "--json", "-f", "reference", "-f", "langgraph", "--fail-under", "sopr_score=1")
    assert [document["metadata"]["agent_name"] for document in done.documents] == ["reference", "langgraph:native"]
    assert "[2/2]" in done.err
    assert "below" not in done.err


def test_a_score_below_the_threshold_is_1(bench: Bench) -> None:
    wrong = ("--model", "scripted:giveup", "--limit", 2)
    assert "below" in bench("run", *wrong, "--fail-under", "sopr_score=0.5", code=1).err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--framework", "referense"), "did you mean 'reference'"),
        (("--dataset", "minni"), "'minni' is not installed"),
        (("--dataset", "stabletoolbench:G1_instruction"), "bench data import"),
        (("--dataset", "absent.json"), "absent.json"),
        (("--query-id", "no-such"), "no task no-such"),
        (("--model", "gpt-4o-mini"), "--base-url"),
        (("--judge", "llm"), "give its name as --judge-model"),
        (("--base-url", "http://127.0.0.1:9/v1"), "give --model NAME"),
        (("--judge", "ruel"), "did you mean 'rule'"),
        (("--fail-under", "sopr=1"), "did you mean 'sopr_score'"),
        (("--selector", "nope"), "'nope' is not installed"),
        (("--limit", "0"), "--limit"),
        (("--temperature", "nan"), "finite"),
        (("--output", "/proc/results"), "name another folder with --output"),
        (("--bogus",), "--bogus"),
    ],
)
def test_wrong_usage_is_2_and_says_what_to_do(
    bench: Bench, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    assert says in bench("run", *arguments, code=2).err
    assert not (tmp_path / ".trialbed").exists(), "it is found before anything is run"


def test_a_server_that_is_not_there_is_3(bench: Bench) -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    assert "bench serve" in bench("run", "--server-url", url, code=3).err


def test_a_model_that_is_not_there_is_3_and_nothing_is_kept(bench: Bench, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{unused_port()}/v1"
    done = bench("run", "--limit", 2, "--model", "some-model", "--base-url", url, "--model-retries", 0, code=3)
    assert "nothing could be measured" in done.err
    assert "failed because of the model's endpoint" in done.err
    assert not (tmp_path / "results").exists()
    assert "kept" not in done.err
