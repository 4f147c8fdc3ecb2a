"""A stand-in for a checkout of τ²-bench: a package with its functions, for a desk that lends boats.

In the domain ``telecom``, the user has a boat with an engine, which only the user can start.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MESSAGES = """
class ToolCall:
    def __init__(self, id, name, arguments, requestor):
        self.name, self.arguments, self.requestor = name, arguments, requestor
"""
ENVIRONMENT = """
import json, os
from pathlib import Path

NAME = Path(__file__).parent.name
DATA = Path(os.environ["TAU2_DATA_DIR"]) / "tau2" / "domains" / NAME


class Plain:
    def __init__(self, **fields):
        vars(self).update(fields)

    def model_dump(self, mode):
        return json.loads(json.dumps(vars(self), default=vars))

    def compare_with_tool_call(self, call):
        return (self.name, self.arguments) == (call.name, call.arguments)


def get_environment():
    return Environment(json.loads(next(DATA.glob("db.*")).read_text()))


def get_tasks():
    tasks = [Plain(**task) for task in json.loads((DATA / "tasks.json").read_text())]
    for task in tasks:
        criteria, first = task.evaluation_criteria, task.initial_state
        lists = {name: [Plain(**one) for one in criteria[name]] for name in ("actions", "env_assertions")}
        task.evaluation_criteria = Plain(**{**criteria, **lists})
        task.initial_state = first and Plain(**first)
    return tasks


def get_tasks_split():
    return {"base": ["0", "1", "2", "3"], "test": ["1"]}


class Environment:
    def __init__(self, boats):
        self.tools = Plain(db=Plain(boats=boats))
        self.user_tools = Plain(db=Plain(engine="off", oil=0)) if NAME == "telecom" else None

    def set_state(self, data, actions, messages):
        for action in actions:
            self.make_tool_call(action["func_name"], action["env_type"], **action["arguments"])

    def sync_tools(self):
        pass

    def run_env_assertion(self, assertion, raise_assertion_error):
        return (self.user_tools.db.engine == assertion.arguments["engine"]) == assertion.assert_value

    def get_policy(self):
        return "Lend a boat once."

    def get_tools(self):
        text = {"type": "string", "title": "Boat"}
        schema = {"type": "object", "properties": {"boat": text}, "required": ["boat"], "title": "parameters"}
        names = ("find_boat", "lend_boat", "sail")
        tools = [{"name": name, "description": f"{name}.", "parameters": schema} for name in names]
        return [Plain(openai_schema={"type": "function", "function": tool}) for tool in tools]

    def get_user_tools(self):
        schema = {"type": "object", "properties": {"litres": {"type": "integer"}}, "title": "parameters"}
        names = ("start_engine", "fill_oil", "look")
        tools = [{"name": name, "description": f"{name}.", "parameters": schema} for name in names]
        return [Plain(openai_schema={"type": "function", "function": tool}) for tool in tools]

    def get_db_hash(self):
        return json.dumps(self.tools.db.boats, sort_keys=True)

    def get_user_db_hash(self):
        return self.user_tools and json.dumps(vars(self.user_tools.db))

    def act(self, name, litres=0):
        phone = self.user_tools.db
        phone.oil += litres
        if name == "start_engine" and not phone.oil:
            raise ValueError("there is no oil")
        phone.engine = "on" if name == "start_engine" else phone.engine
        return f"[engine: {phone.engine}, oil: {phone.oil}"

    def make_tool_call(self, tool_name, requestor, **given):
        print("the domain prints")
        return self.act(tool_name, **given) if requestor == "user" else self.lend(tool_name, **given)

    def lend(self, tool_name, boat):
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
    basis: dict[str, Any] = {"communicate_info": None, "nl_assertions": None, "env_assertions": []}
    basis["reward_basis"] = ["DB", "NL_ASSERTION"]
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
    task("3", reward_basis=["GUESS"]),
]


def act(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "requestor": "user", "arguments": arguments}


def engine_task(number: str, basis: list[str], *actions: dict[str, Any], oil: int = 1) -> dict[str, Any]:
    first = {"env_type": "user", "func_name": "fill_oil", "arguments": {"litres": oil}}
    starts = {"env_type": "user", "func_name": "assert_engine", "arguments": {"engine": "on"}, "assert_value": True}
    made = task(number, actions=list(actions), env_assertions=[starts], reward_basis=basis)
    return {**made, "initial_state": {"initialization_data": None, "initialization_actions": [first]}}


FIND = {"name": "find_boat", "requestor": "assistant", "arguments": {"boat": "gull"}}
ENGINE_TASKS = [
    engine_task("0", ["ENV_ASSERTION"], act("start_engine")),
    engine_task("1", ["ENV_ASSERTION", "ACTION"], act("fill_oil", litres=2), FIND, act("start_engine"), oil=0),
    engine_task("2", ["DB"], act("start_engine")),
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
        "src/tau2/domains/telecom/environment.py": ENVIRONMENT,
        "data/tau2/domains/telecom/db.toml": json.dumps({"gull": {"lent": 0}}),
        "data/tau2/domains/telecom/tasks.json": json.dumps(ENGINE_TASKS),
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
