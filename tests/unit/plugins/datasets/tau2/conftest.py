"""A stand-in for a checkout of τ²-bench: a package with its functions, for a desk that lends boats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MESSAGES = """
class ToolCall:
    def __init__(self, id, name, arguments):
        self.name, self.arguments, self.requestor = name, arguments, "assistant"
"""
ENVIRONMENT = """
import json, os
from pathlib import Path

DATA = Path(os.environ["TAU2_DATA_DIR"]) / "tau2" / "domains" / "retail"


class Plain:
    def __init__(self, **fields):
        vars(self).update(fields)

    def model_dump(self, mode):
        return json.loads(json.dumps(vars(self), default=vars))


def get_environment():
    return Environment(json.loads((DATA / "db.json").read_text()))


def get_tasks():
    tasks = [Plain(**task) for task in json.loads((DATA / "tasks.json").read_text())]
    for task in tasks:
        criteria = task.evaluation_criteria
        task.evaluation_criteria = Plain(**{**criteria, "actions": [Plain(**one) for one in criteria["actions"]]})
    return tasks


def get_tasks_split():
    return {"base": ["0", "1", "2", "3"], "test": ["1"]}


class Environment:
    def __init__(self, boats):
        self.tools = Plain(db=Plain(boats=boats))

    def get_policy(self):
        return "Lend a boat once."

    def get_tools(self):
        text = {"type": "string", "title": "Boat"}
        schema = {"type": "object", "properties": {"boat": text}, "required": ["boat"], "title": "parameters"}
        names = ("find_boat", "lend_boat", "sail")
        tools = [{"name": name, "description": f"{name}.", "parameters": schema} for name in names]
        return [Plain(openai_schema={"type": "function", "function": tool}) for tool in tools]

    def get_db_hash(self):
        return json.dumps(self.tools.db.boats, sort_keys=True)

    def make_tool_call(self, tool_name, requestor, boat):
        print("the domain prints")
        if tool_name == "sail":
            if boat == "away":
                os._exit(3)
            while boat == "forever":
                pass
            return os.environ.get("OPENAI_API_KEY", "no key")
        found = self.tools.db.boats[boat]
        if tool_name == "lend_boat":
            found["lent"] += 1
        return json.dumps(found)

    def get_response(self, call):
        try:
            content, error = self.make_tool_call(call.name, call.requestor, **call.arguments), False
        except Exception as problem:
            content, error = f"Error: {problem!r}", True
        return Plain(content=content, error=error)
"""


def task(number: str, *actions: tuple[str, str], known: str = "", **criteria: Any) -> dict[str, Any]:
    calls = [{"name": name, "requestor": "assistant", "arguments": {"boat": boat}} for name, boat in actions]
    told = {"reason_for_call": "You want a boat.", "known_info": known, "unknown_info": None, "task_instructions": "."}
    basis = {"communicate_info": None, "nl_assertions": None, "reward_basis": ["DB", "NL_ASSERTION"]}
    return {
        "id": number,
        "user_scenario": {"persona": None, "instructions": told},
        "initial_state": None,
        "evaluation_criteria": {"actions": calls, **basis, **criteria},
    }


TASKS = [
    task("0", ("find_boat", "gull"), ("lend_boat", "gull"), ("lend_boat", "none"), known="You like the gull."),
    task("1", ("find_boat", "tern"), communicate_info=["4"], reward_basis=["DB", "COMMUNICATE"]),
    task("2", nl_assertions=["The agent lends no boat."]),
    task("3", reward_basis=["ENV_ASSERTION"]),
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "tau2-bench"
    files = {
        "src/tau2/__init__.py": "raise RuntimeError('it imports what asks models')",
        "src/tau2/data_model/message.py": MESSAGES,
        "src/tau2/domains/retail/environment.py": ENVIRONMENT,
        "data/tau2/domains/retail/db.json": json.dumps({"gull": {"lent": 0}, "tern": {"lent": 2, "seats": 4}}),
        "data/tau2/domains/retail/tasks.json": json.dumps(TASKS),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv("TRIALBED_DATA_DIR", str(folder))
    for name in ("TAU2_DATA_DIR", "TRIALBED_TAU2_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    return folder
