"""``bench adapter check --command``: the kit on a program, which sees its requests, its calls and its output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest
from support.bench import Bench, bench_in, own_environment

AGENT = """
import json, os, sys
from urllib.request import Request, urlopen

def post(url, body):
    headers = {{"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
    return json.load(urlopen(Request(url, json.dumps(body).encode(), headers)))

task = json.load(sys.stdin)
tools = [{{"type": "function", "function": {{key: one[key] for key in ("name", "description", "parameters")}}}}
         for one in task["tools"]]
apis = {{one["name"]: one["api"] for one in task["tools"]}}
messages = [{{"role": "system", "content": task["instructions"]}}, {{"role": "user", "content": task["query"]}}]
while True:
    body = {{"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": tools}}
    message = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]{among}:
        asked = {{"tool_input": call["function"]["arguments"], "strip": "", "toolbench_key": ""}}
        made = {{**apis[call["function"]["name"]], **asked}}
        reply = post(os.environ["TRIALBED_TOOLS_URL"], made)
        messages.append({{"role": "tool", "tool_call_id": call["id"], "content": json.dumps(reply["response"])}})
print(message["content"])
"""

CHECKS = [part for name in ("single_call", "seed_is_sent", "calls_are_claimed") for part in ("--check", name)]

pytestmark = pytest.mark.slow(10)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, own_environment())


def program(folder: Path, among: str = "") -> str:
    path = folder / "my_agent.py"
    path.write_text(AGENT.format(among=among))
    return f"{sys.executable} {path}"


def test_a_program_is_checked_by_what_it_sends(bench: Bench, tmp_path: Path) -> None:
    command = ("adapter", "check", "--command", program(tmp_path), *CHECKS)
    done = bench(*command, "--json", code=1)
    report = json.loads(done.out)
    assert report["framework"] == "my_agent"
    outcomes = {one["check"]: one["outcome"] for one in report["findings"]}
    # It prints an answer alone, so its claims cannot be tried.
    assert outcomes == {"single_call": "passed", "seed_is_sent": "failed", "calls_are_claimed": "skipped"}
    known = bench(*command, "--known", "seed_is_sent=the client has no seed", "--format", "junit", code=0)
    cases = {case.get("name"): [one.tag for one in case] for case in ElementTree.fromstring(known.out).iter("testcase")}
    assert cases == {"single_call": [], "seed_is_sent": ["skipped"], "calls_are_claimed": ["skipped"]}


def test_a_program_that_loses_calls_is_told_so(bench: Bench, tmp_path: Path) -> None:
    command = program(tmp_path, among="[:1]")
    done = bench("adapter", "check", "--command", command, "--check", "many_calls_in_one_turn", code=0)
    assert "many_calls_in_one_turn (may): finding" in done.out


def test_a_program_that_does_not_start_is_not_checked_on(bench: Bench) -> None:
    missing = ("adapter", "check", "--command", f"{sys.executable} missing.py")
    for options in ((), ("--quick",), ("--level", "must")):
        done = bench(*missing, *options, code=2)
        assert "missing.py ended with exit code 2" in done.err
        assert "the program does not ask the model" in done.err
        assert "single_call" not in done.out + done.err


def test_an_adapter_and_a_program_are_not_checked_together(bench: Bench) -> None:
    assert "name an adapter, or give a program" in bench("adapter", "check", code=2).err
    both = bench("adapter", "check", "reference", "--command", sys.executable, code=2)
    assert "give either an adapter's name or --command, not both" in both.err


def test_whatever_a_program_leaves_behind_ends_with_the_kit(bench: Bench, tmp_path: Path) -> None:
    command = program(tmp_path)
    leaves = "import subprocess\nsubprocess.Popen(['sleep', '7171'], start_new_session=True)\n"
    (tmp_path / "my_agent.py").write_text(leaves + (tmp_path / "my_agent.py").read_text())
    bench("adapter", "check", "--command", command, "--check", "single_call")
    assert not [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == ["sleep", "7171"]]
