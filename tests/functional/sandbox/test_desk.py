"""A file of tasks under a sandbox: its tools answer, and nothing of the file is in the agent's reach."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.bench import bench_in, own_environment

from trialbed import open_store

SECRET = "12.5 and not a cent more"

FILES = {
    "desk.py": f"""
import json
import os
from pathlib import Path

from stock import LEFT
from trialbed import Expect, Task, call, tool

ORDERS = json.loads(Path(__file__).with_name("orders.json").read_text())


@tool
def find_order(id: int) -> dict:
    \"\"\"Find an order.\"\"\"
    return {{"price": ORDERS[str(id)], "stock": LEFT, "process": os.getpid()}}


tasks = [Task("What was order 7?", tools=[find_order], expect=Expect(["{SECRET}"], calls=[call("find_order", id=7)]))]
""",
    "stock.py": f"LEFT = 'stock: {SECRET}'\n",
    "orders.json": json.dumps({"7": SECRET}),
}

AGENT = """
import glob, importlib, importlib.util, json, os, subprocess, sys, urllib.request

task, folder = json.load(sys.stdin), sys.argv[1]
(tool,) = task["tools"]
body = json.dumps({**tool["api"], "tool_input": {"id": 7}, "strip": "", "toolbench_key": ""}).encode()
asked = urllib.request.Request(os.environ["TRIALBED_TOOLS_URL"], body, {"Content-Type": "application/json"})
answer = json.load(urllib.request.urlopen(asked))["response"]
told = answer if isinstance(answer, dict) else json.loads(answer)


def read(path):
    with open(path, "rb") as file:
        return file.read().decode("latin-1")


def imported(name):
    sys.path.insert(0, folder)
    return vars(importlib.import_module(name))


def bytecode():
    found = glob.glob(folder + "/__pycache__/*.pyc")
    return [read(path) for path in found]


def loaded():
    spec = importlib.util.spec_from_file_location("desk", folder + "/desk.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def linked():
    os.symlink(folder + "/desk.py", "link.py")
    return read("link.py")


def state():
    found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return [read(path) for path in found if not path.endswith("agent.py")]


WAYS = {
    "desk.py": lambda: read(folder + "/desk.py"),
    "stock.py": lambda: read(folder + "/stock.py"),
    "orders.json": lambda: read(folder + "/orders.json"),
    "import desk": lambda: imported("desk"),
    "import stock": lambda: imported("stock"),
    "load desk": loaded,
    "bytecode": bytecode,
    "link": linked,
    "another program": lambda: subprocess.run(["cat", folder + "/desk.py"], capture_output=True, check=True).stdout,
    "the server's folder": lambda: read(f"/proc/{told['process']}/cwd/desk.py"),
    "the server's memory": lambda: read(f"/proc/{told['process']}/environ"),
    "the parent's folder": lambda: read(f"/proc/{os.getppid()}/cwd/desk.py"),
    "everything below": state,
}
reached = {}
for name, way in WAYS.items():
    try:
        found = repr(way())
    except BaseException as error:
        reached[name] = type(error).__name__
    else:
        reached[name] = "reached" if "not a cent more" in found or name == "the server's memory" else "nothing"
print(json.dumps({"told": told, "reached": reached, "process": os.getpid()}))
"""


pytestmark = pytest.mark.slow(15)


def attempts(folder: Path, *options: str) -> dict[str, str]:
    """What the agent reached of the file of tasks that lies beside it, by the ways that it tried."""
    for name, text in {**FILES, "agent.py": AGENT}.items():
        (folder / name).write_text(text, encoding="utf-8")
    bench = bench_in(folder, own_environment(TRIALBED_STATE_DIR=str(folder / "state")))
    command = f"mine={sys.executable} {folder / 'agent.py'} {folder}"
    bench("run", "--dataset", "desk.py", "--command", command, *options, "--yes")
    with open_store(str(folder / "state" / "trialbed.db")) as store:
        (trial,) = store.run(store.runs()[0].run_id).trials()
    assert trial.answer is not None, trial.failure
    said = json.loads(trial.answer.final_answer)
    assert (said["told"]["price"], said["told"]["stock"]) == (SECRET, f"stock: {SECRET}")
    assert said["told"]["process"] != said["process"]
    reached: dict[str, str] = said["reached"]
    return reached


@pytest.mark.usefixtures("sandbox")
def test_nothing_of_a_file_of_tasks_is_in_the_reach_of_an_agent_beside_it(tmp_path: Path) -> None:
    reached = attempts(tmp_path, "--sandbox")
    assert {way: outcome for way, outcome in reached.items() if outcome == "reached"} == {}


def test_without_a_sandbox_each_way_leads_there(tmp_path: Path) -> None:
    reached = attempts(tmp_path)
    # A worker's folder is its own with and without a sandbox.
    assert {way for way, outcome in reached.items() if outcome != "reached"} == {"the parent's folder"}
