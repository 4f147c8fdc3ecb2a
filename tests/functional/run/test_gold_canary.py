"""Nothing that an agent is given has the right calls, the right answer or the state to reach, in any spelling."""

from __future__ import annotations

import base64
import json
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from support.bench import Bench

from trialbed.store import open_store

pytestmark = pytest.mark.slow

GOLD = {
    "argument": "CT-87315-Q",
    "fact": "Mirel Tidemark 4711",
    "state": "booked-for-Anselm-93",
    "answer": "It is Vrinsk.",
}

AGENT = """
import json, os, sys, urllib.request

task = sys.stdin.read()
parts = [task, json.dumps(dict(os.environ)), json.dumps(sys.argv)]
for number in (os.getpid(), "self"):
    for name in ("environ", "cmdline"):
        parts.append(open(f"/proc/{number}/{name}", "rb").read().decode("latin-1") if os.path.isdir("/proc") else "")
for folder, _, names in os.walk("."):
    parts += [folder, *names, *(open(os.path.join(folder, name), "rb").read().decode("latin-1") for name in names)]


def ask(url, document=None):
    data = None if document is None else json.dumps(document).encode()
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
            parts.extend([answer.read().decode("latin-1"), str(answer.headers)])
    except urllib.error.HTTPError as error:
        parts.append(error.read().decode("latin-1"))


base = os.environ["OPENAI_BASE_URL"]
root = base.rpartition("/")[0]
for path in ("", "/", "/v1", "/v1/models", "/virtual", "/mcp", "/openapi.json", "/state", "/trial", "/script"):
    ask(root + path)
ask(base + "/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "?"}]})
for method in ("initialize", "tools/list", "resources/list", "prompts/list"):
    ask(os.environ["TRIALBED_MCP_URL"], {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})
for tool in json.loads(task)["tools"]:
    given = {"tool_input": {"id": "other"}, "strip": "", "toolbench_key": ""}
    ask(os.environ["TRIALBED_TOOLS_URL"], {**tool["api"], **given})
print(json.dumps({"final_answer": "".join(parts)}))
"""


def spellings(value: str) -> dict[str, str]:
    """The value as it may stand in a text, whatever is beside it."""
    raw = value.encode()
    # Where it begins at each of the three places of a group.
    shifted = {
        f"base64, {skip} on": base64.b64encode(b"x" * skip + raw).decode()[4 * (skip > 0) : -4] for skip in range(3)
    }
    return {
        "as it is": value,
        "hex": raw.hex(),
        "for a URL": quote(value, safe=""),
        "JSON": json.dumps(json.dumps(value))[3:-3],
        "escaped": "".join(f"\\u{ord(character):04x}" for character in value),
        "backwards": value[::-1],
        **shifted,
    }


def test_what_an_agent_is_given_does_not_have_the_right_answer(bench: Bench, tmp_path: Path) -> None:
    api = {
        "category": "Cities",
        "tool_name": "Atlas",
        "api_name": "mayor",
        "description": "The mayor of a city.",
        "required_parameters": [{"name": "id", "type": "STRING", "description": "its id"}],
    }
    reference = {name: api[name] for name in ("category", "tool_name", "api_name")}
    query = {
        "query_id": 1,
        "text": "Who is it?",
        "apis": [api],
        "gold_calls": [{"api": reference, "arguments": {"id": GOLD["argument"]}}],
        "reference_facts": [GOLD["fact"]],
        "reference_answer": GOLD["answer"],
        "initial_state": {"seats": 1},
        "final_state": {"seats": GOLD["state"]},
    }
    (tmp_path / "canary.json").write_text(json.dumps({"name": "canary", "queries": [query]}))
    (tmp_path / "look.py").write_text(AGENT)
    command = f"look={shlex.quote(sys.executable)} look.py"
    bench("run", "--command", command, "--dataset", "canary.json", "--model", "scripted:none", "--store", "seen.db")
    with open_store(str(tmp_path / "seen.db")) as reader:
        (trial,) = reader.run("latest").trials()
    assert trial.answer is not None, trial.failure
    seen = trial.answer.final_answer
    for wanted in ("Who is it?", "Atlas", "OPENAI_BASE_URL", "tools"):
        assert wanted in seen
    for name, value in GOLD.items():
        for spelling, text in spellings(value).items():
            assert text not in seen, (name, spelling)
            assert text.lower() not in seen.lower(), (name, spelling)
