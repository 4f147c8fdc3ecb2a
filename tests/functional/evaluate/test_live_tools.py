"""Tasks on the tools of an MCP server: live, then as they were, then with faults."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import psutil
import pytest
from support import mcp_server
from support.bench import Bench, bench_in, own_environment

from trialbed import open_store
from trialbed.records import ApiCall


def is_server(pid: int) -> bool:
    """Whether the process of this number is still the server, and no later one."""
    try:
        return any("server.py" in word for word in psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


CART = """
tasks:
  - id: all
    query: Put a lamp and a chair into the cart, and list it.
    expect: {calls: [cart_add: {item: lamp}, cart_add: {item: chair}, list: {}], order: given}
  - id: lamp
    query: Put a lamp into the cart.
    expect: {facts: [1 items], calls: [cart_add: {item: lamp}]}
  - id: desks
    query: Put three desks into the cart.
    expect: {facts: [3 items], calls: [cart_add: {item: desk}, cart_add: {item: desk}, cart_add: {item: desk}]}
"""


def observed(bench: Bench, folder: Path, *options: str) -> dict[str, list[tuple[str, str, str, str]]]:
    """Run the tasks on the server; the calls that the wire saw of each: response or error, provenance and fault."""
    server = f"{sys.executable} -I {folder / 'server.py'}"
    run = ("run", "-d", "cart.yaml", "--mcp", server, "-f", "reference", "-m", "scripted:gold", "-j", "1")
    bench(*run, "--json", *options)
    with open_store(str(folder / "state" / "trialbed.db")) as store:
        trials = list(store.run(store.runs()[0].run_id).trials())
        solved = [score and score.value for score in (trial.score("sopr_score") for trial in trials)]
        assert "--faults" in options or solved == [1] * len(trials)
        return {f"{trial.key.query_id}/{trial.key.repeat}": list(map(seen, trial.wire.api_calls)) for trial in trials}


def seen(call: ApiCall) -> tuple[str, str, str, str]:
    """The name of a call, its response or error, its provenance and its fault."""
    return call.api.api_name, str(call.error or call.response), call.provenance, call.fault


@pytest.mark.slow(15)
def test_a_server_with_state_answers_the_trials_of_the_command_and_is_replayed_when_it_is_gone(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, own_environment(TRIALBED_STATE_DIR=str(tmp_path / "state")))
    (tmp_path / "cart.yaml").write_text(CART, encoding="utf-8")
    shutil.copy(mcp_server.__file__, tmp_path / "server.py")
    live = observed(bench, tmp_path, "--repeat", "2")
    # Each trial begins with an empty cart, and its calls are observed.
    assert [text for _, text, _, _ in live["desks/0"]] == ["1 items", "2 items", "3 items"]
    assert [text for _, text, _, _ in live["lamp/0"]] == ["1 items"]
    assert [(name, text) for name, text, _, _ in live["all/0"]][:2] == [
        ("cart_add", "1 items"),
        ("cart_add", "2 items"),
    ]
    assert '["lamp", "chair"]' in live["all/0"][2][1]
    # One lists the tools, and one serves each trial whose calls have no kept answers: "lamp" begins as "all" does.
    servers = (tmp_path / "started").read_text().split()
    assert len(set(servers)) == 3
    assert not any(is_server(int(server)) for server in servers)
    kept = (tmp_path / "cart.mcp.answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(kept) == 6
    (tmp_path / "server.py").unlink()
    replayed = observed(bench, tmp_path, "--repeat", "2", "--tool-answers", "recorded")
    assert replayed == {
        trial: [(name, text, "recorded", "") for name, text, _, _ in calls] for trial, calls in live.items()
    }
    faults = '{"tools": {"rate": 1, "faults": ["server_error"]}}'
    faulty = observed(bench, tmp_path, "--tool-answers", "recorded", "--faults", faults)
    assert {fault for calls in faulty.values() for _, _, _, fault in calls} == {"server_error"}
    assert (tmp_path / "started").read_text().split() == servers
    assert (tmp_path / "cart.mcp.answers.jsonl").read_text(encoding="utf-8").splitlines() == kept
