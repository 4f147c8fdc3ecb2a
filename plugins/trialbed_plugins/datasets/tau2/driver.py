"""τ²-bench as a dataset, with its tasks as conversations and a process with its code for each trial."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import IO, Any, ClassVar, cast

from trialbed.contracts import ApiRefused, DatasetDriver
from trialbed.errors import NothingMeasured, UsageError
from trialbed.files import write_text
from trialbed.records import Api, Expected, GoldCall, Json, Query, User, UserCall, UserTurn
from trialbed.settings import make_folder
from trialbed_plugins.datasets._queries import ListedDataset

NAME = "tau2"
DOMAINS = ("retail", "airline", "telecom", "mock")
SCRIPTED = "-scripted"
"""The suffix of test sets with the scripted user."""

PYTHON = "TRIALBED_TAU2_PYTHON"
"""The variable with the Python for τ²-bench's packages. The default is the checkout's ``.venv``."""

DATA = "TAU2_DATA_DIR"
"""τ²-bench's own variable for its data folder."""

NOTE = "package.txt"
HOW_TO = "a checkout of tau2-bench: `uv sync` in it makes its environment, and `bench data import DIR` makes it known"
IN_PROCESS = {"DB", "ENV_ASSERTION", "ACTION"}
DECIDED = {*IN_PROCESS, "COMMUNICATE", "NL_ASSERTION"}
"""The parts of a reward that the process decides, and all that can be decided here."""

GIVEN = ("PATH", "HOME", "LANG", "SYSTEMROOT", "TMPDIR")
"""Variables for the process. Others may be keys."""

SECONDS = 60.0
"""Timeout for one answer, including the start of the process."""

LOG = logging.getLogger("trialbed.engine")

LARGEST = 64 * 2**20
"""Largest answer, in bytes."""

AGENT, USER = "assistant", "user"
"""τ²-bench's names for the callers of tools."""

EXPECTED = "as expected"
OPENING = "Hello, I need your help with something."
MOST_MESSAGES = 50


@dataclass(eq=False)
class TauDomain:
    """A domain of τ²-bench with its location.

    Attributes:
        package: the folder of the package.
        data: the folder of its data.
        identity: distinguishes versions of its tools and data.
        idle: processes of finished trials, which are reused since a start takes two seconds.
    """

    name: str
    python: str
    package: Path
    data: Path
    identity: str = ""
    idle: deque[TauEnvironment] = field(default_factory=deque)

    @property
    def missing(self) -> Path | None:
        """The first missing file among its database and its tasks."""
        folder = self.data / NAME / "domains" / self.name
        files = (folder / ("db.toml" if self.name == "telecom" else "db.json"), folder / "tasks.json")
        return next((file for file in files if not file.is_file()), None)


class TauEnvironment:
    """The environment of a trial, in a process that serves no other trial meanwhile.

    Attributes:
        is_ready: whether the process waits for a request.
    """

    def __init__(self, domain: TauDomain) -> None:
        self._domain = domain
        self.is_ready = True
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        variables = {name: os.environ[name] for name in GIVEN if name in os.environ}
        variables |= {DATA: str(domain.data), "LOGURU_LEVEL": "ERROR"}
        bridge = Path(__file__).with_name("bridge.py")
        try:
            self._process = subprocess.Popen(
                [domain.python, "-I", "-X", "utf8", bridge, domain.name, domain.package],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=variables,
            )
        except OSError as error:
            self._errors.close()
            raise NothingMeasured(f"{domain.python} cannot be started: {error}; the dataset needs {HOW_TO}") from error

    def ask(self, do: str, **given: Json) -> Any:
        """Return the process's answer.

        Raises:
            NothingMeasured: there is no answer, or it is an exception.
        """
        stdin, stdout = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        timer = Timer(SECONDS, self._process.kill)
        timer.start()
        self.is_ready = False
        try:
            stdin.write(json.dumps({"do": do, **given}).encode() + b"\n")
            stdin.flush()
            line = stdout.readline(LARGEST)
        except (OSError, ValueError):  # it has ended
            line = b""
        finally:
            timer.cancel()
        where = f"tau2:{self._domain.name} ({self._domain.python})"
        if not line.endswith(b"\n"):
            self._process.kill()
            self._errors.seek(max(self._errors.seek(0, os.SEEK_END) - 500, 0))
            said = self._errors.read().decode(errors="replace").strip() or "it said nothing"
            raise NothingMeasured(f"{where}: the process ended, or did not answer within {SECONDS:g} s: {said}")
        self.is_ready = True
        answer = json.loads(line)
        if "problem" in answer:
            hint = f"; it needs {HOW_TO}" if do == "describe" else ""
            raise NothingMeasured(f"{where}: {answer['problem']}{hint}")
        return answer["result"]

    def call(self, name: str, arguments: Mapping[str, Json], requestor: str = AGENT) -> Json:
        """Return the answer to a tool call."""
        found = self.ask("call", name=name, arguments=cast("Json", arguments), requestor=requestor)
        text: str = found["content"]
        if found["failed"]:
            raise ApiRefused(text)
        with suppress(ValueError):  # some texts only begin like JSON
            return json.loads(text) if text[:1] in ("{", "[") else text
        return text

    def state(self) -> Json:
        """Return whether the state meets the task's expectations, with the first differences."""
        found = self.ask("compare")
        part, faults = found["part"], found["faults"]
        return {part: f"not {EXPECTED}", "differences": faults} if faults else {part: EXPECTED}

    def close(self) -> None:
        """End the process, even if another thread is waiting for its answer."""
        self._process.kill()
        self._process.wait()
        for file in (self._errors, self._process.stdin, self._process.stdout):
            with suppress(OSError):  # closing flushes the buffer
                cast("IO[bytes]", file).close()


@dataclass(frozen=True)
class TauBody:
    """The answers to the calls of one tool; see ``trialbed.tasks.ApiBody``."""

    owner: TauDomain
    name: str
    requestor: str = AGENT
    provenance: ClassVar[str] = NAME
    has_to_end: ClassVar[bool] = True
    checked: ClassVar[bool] = False

    @property
    def code(self) -> Any:
        """The domain."""
        return self.owner

    def source(self) -> str:
        """Return a text that identifies the version of the domain."""
        return f"{self.name} {self.owner.identity}"

    def make_owner(self, state: Json) -> TauEnvironment:
        """Return an environment for a trial."""
        try:
            environment = self.owner.idle.pop()
        except IndexError:
            environment = TauEnvironment(self.owner)
        try:
            environment.ask("begin", task=state["task"])
        except NothingMeasured:
            environment.close()
            raise
        return environment

    async def end_trial(self, owner: TauEnvironment) -> None:
        """Release the process for another trial."""
        if owner.is_ready:
            self.owner.idle.append(owner)
        else:
            owner.close()

    async def end_run(self) -> None:
        """End the idle processes."""
        while self.owner.idle:
            self.owner.idle.pop().close()

    async def call(self, arguments: Mapping[str, Json], owner: TauEnvironment, run: Any) -> Json:
        """Return the answer to a call."""
        return await run(partial(owner.call, self.name, arguments, self.requestor))


class Tau2Driver(DatasetDriver):
    """τ²-bench's tasks, from a checkout that ``bench data import`` has registered or from the installed package."""

    description: ClassVar[str] = (
        "τ²-bench's conversations of retail, airline and telecom; needs `bench data import` of a checkout"
    )

    def test_sets(self, data_dir: Path) -> Sequence[str]:
        """Return the available domains, each with a model as the user and with the scripted user."""
        package = _package(data_dir)
        return [] if package is None else _test_sets(package)

    def open(self, test_set: str | None, data_dir: Path) -> ListedDataset:
        """Return a domain's tasks; by default, retail with a model as the user.

        Raises:
            UsageError: the domain is missing, or has no such test set; the message says why.
            NothingMeasured: its code cannot be run.
        """
        name, package = test_set or DOMAINS[0], _package(data_dir)
        if package is None:
            raise UsageError(f"the dataset {NAME!r} needs {HOW_TO}")
        domain = _domain(name.removesuffix(SCRIPTED), package)
        if domain.name not in DOMAINS:
            others = "the agents of banking_knowledge search in documents with τ²-bench's own retrieval"
            raise UsageError(f"the dataset {NAME!r} has {', '.join(DOMAINS)}, and no {name!r}: {others}")
        if (missing := domain.missing) is not None:
            raise UsageError(f"{NAME}:{name} needs {missing}, which is missing; it is in {HOW_TO}")
        found = _describe(domain)
        domain.identity = hashlib.sha256(json.dumps(found).encode()).hexdigest()
        apis, user_apis = _apis(name, "", found["tools"]), _apis(name, USER, found["user_tools"])
        queries = list(_queries(found, apis, user_apis, scripted=name.endswith(SCRIPTED)))
        known = {query.query_id for query in queries}
        if left_out := [task["id"] for task in found["tasks"] if task["id"] not in known]:
            LOG.warning("%s:%s: skipped, because they are graded in other ways: %s", NAME, name, ", ".join(left_out))
        dataset = ListedDataset(NAME, name, queries)
        both = (*apis, *user_apis)
        dataset.functions = {api.ref: TauBody(domain, api.api_name, api.tool_name or AGENT) for api in both}
        dataset.files = [domain.data]
        return dataset

    def recognises(self, folder: Path) -> bool:
        """Return whether the folder is a checkout."""
        return (folder / "src" / NAME / "domains").is_dir()

    def import_folder(self, folder: Path, data_dir: Path) -> Sequence[str]:
        """Register the location of a checkout, without copying it, and return its test sets.

        Raises:
            UsageError: it has no database, or ``data_dir`` cannot be written.
            NothingMeasured: its code cannot be run.
        """
        package = folder.resolve() / "src" / NAME
        found = _test_sets(package)
        if not found:
            raise UsageError(f"{folder}: there is no data/tau2/domains/retail/db.json, on which the tools act")
        for name in found[::2]:
            _describe(_domain(name, package))
        make_folder(data_dir / NAME, "--data-dir", shared=True)
        write_text(data_dir / NAME / NOTE, f"{package}\n", "--data-dir")
        return found


def _package(data_dir: Path) -> Path | None:
    """Return the folder of τ²-bench's package, from the registered checkout or the installation."""
    note = data_dir / NAME / NOTE
    if note.is_file():
        return Path(note.read_text(encoding="utf-8").strip())
    spec = find_spec(NAME)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _domain(name: str, package: Path) -> TauDomain:
    checkout = package.parents[1]
    usual = checkout / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    python = os.environ.get(PYTHON) or (str(usual) if usual.is_file() else sys.executable)
    return TauDomain(name, python, package, Path(os.environ.get(DATA) or checkout / "data"))


def _test_sets(package: Path) -> list[str]:
    found = [name for name in DOMAINS if _domain(name, package).missing is None]
    return [name + end for name in found for end in ("", SCRIPTED)]


def _describe(domain: TauDomain) -> dict[str, Any]:
    environment = TauEnvironment(domain)
    try:
        found: dict[str, Any] = environment.ask("describe")
    finally:
        environment.close()
    return found


def _apis(name: str, owner: str, tools: Sequence[Mapping[str, Any]]) -> list[Api]:
    """Return the tools of the agent, or of the user, of a domain."""
    return [
        Api(
            category=name.removesuffix(SCRIPTED),
            tool_name=owner,
            api_name=tool["name"],
            description=tool["description"],
            json_schema=tool["parameters"],
        )
        for tool in tools
    ]


def _queries(
    found: Mapping[str, Any], apis: Sequence[Api], user_apis: Sequence[Api], *, scripted: bool
) -> Iterator[Query]:
    """Yield the tasks that can be decided here."""
    refs = {(api.tool_name, api.api_name): api.ref for api in (*apis, *user_apis)}
    for task in found["tasks"]:
        criteria = task["evaluation_criteria"] or {}
        basis = set(criteria.get("reward_basis") or ())
        if not basis & IN_PROCESS or basis - DECIDED or (task["initial_state"] or {}).get("message_history"):
            continue
        actions: list[GoldCall] = []
        user_calls: list[UserCall] = []
        for one in criteria["actions"] or ():
            if one["requestor"] == USER:
                call = UserCall(api=refs[USER, one["name"]], arguments=one["arguments"], after=len(actions))
                user_calls.append(call)
            else:
                actions.append(GoldCall(api=refs["", one["name"]], arguments=one["arguments"]))
        facts = tuple(criteria["communicate_info"] or ()) if "COMMUNICATE" in basis else ()
        assertions = tuple(criteria["nl_assertions"] or ()) if "NL_ASSERTION" in basis else ()
        user = _user(task["user_scenario"], actions, scripted=scripted)
        splits = [name for name, ids in found["splits"].items() if name != "base" and task["id"] in ids]
        yield Query(
            query_id=task["id"],
            text=user.goal,
            apis=tuple(apis),
            gold_calls=tuple(actions),
            states_calls=False,
            reference_facts=facts,
            initial_state={"task": task["id"]},
            final_state={"database" if "DB" in basis else "checks": EXPECTED},
            expected=Expected(criteria=assertions),
            tags=(*splits, "judge" if assertions else "no judge"),
            turns=(UserTurn(text=user.goal, calls=len(actions), facts=facts),),
            policy=found["policy"],
            user=user,
            user_tools=tuple(user_apis),
            user_calls=tuple(user_calls),
        )


def _user(scenario: Mapping[str, Any], actions: Sequence[GoldCall], *, scripted: bool) -> User:
    """Return the user of a scenario.

    A scripted user reads out the reason for the call, and knows the arguments of expected calls in the scenario.
    """
    given = scenario["instructions"]
    parts = given if isinstance(given, dict) else {"task_instructions": given}
    told = {"persona": scenario["persona"], **{name: parts.get(name) for name in PARTS}}
    text = "\n\n".join(f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in told.items() if value)
    if not scripted:
        return User(goal=OPENING, instructions=text, kind="model", most_messages=MOST_MESSAGES)
    named = [(name, value) for one in actions for name, value in (one.arguments or {}).items()]
    knows = {name: value for name, value in reversed(named) if isinstance(value, str) and value in text}
    return User(goal=parts.get("reason_for_call") or text, knows=knows, most_messages=MOST_MESSAGES)


PARTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
