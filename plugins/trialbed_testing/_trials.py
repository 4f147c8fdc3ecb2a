"""The value of the fixture, which runs the trials and conversations of a test, recorded and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any

from trialbed.api import run_parts
from trialbed.errors import DataError, NothingMeasured, TrialbedError, UsageError
from trialbed.files import temporary_folder
from trialbed.models import is_at_endpoint, judge_drivers
from trialbed.preparation import RunObjects, RunOptions, read_keywords
from trialbed.records import NOT_MEASURED, ApiCall, User, WireLog
from trialbed.store import open_run
from trialbed.tasks import Expect, Task, TaskDataset
from trialbed.texts import whole_text
from trialbed_scripted import Script
from trialbed_testing._single import AskUser, SingleTrial, TrialSuite
from trialbed_testing._snapshots import Snapshot
from trialbed_testing._trial import ObservedTrial


class OpenConversation(ObservedTrial):
    """A trial with the test as its user. Until the conversation ends, it shows the trial so far, without scores.

    Args:
        suite: runs the trial while the test looks at an answer.
        start: starts the trial with the first message and a function that returns the next ones.
        trials: the trials of the test; this one is added to them.
    """

    def __init__(
        self, suite: TrialSuite, start: Callable[[str, AskUser], Future[SingleTrial]], trials: list[ObservedTrial]
    ) -> None:
        self.whole = None
        self._suite = suite
        self._start = start
        self._trials = trials
        self._running: Future[SingleTrial] | None = None
        self._answers: SimpleQueue[SingleTrial | None] = SimpleQueue()
        self._messages: asyncio.Queue[str | None] = asyncio.Queue()
        self._awaits_message = False

    def say(self, text: str) -> ObservedTrial:
        """Send a message to the agent and return its answer, with the calls and requests until then.

        Raises:
            UsageError: the message is blank, or the conversation has ended.
            TrialbedError: the agent gave no answer; the message says why.
        """
        __tracebackhide__ = True
        if not isinstance(text, str) or not text.strip() or whole_text(text) != text:
            raise UsageError(f"say: {text!r:.60} is not text that UTF-8 can carry")
        if self._running is None:
            with self._suite.turn:
                self._running = self._start(text, self._ask_user)
                self._running.add_done_callback(lambda _: self._answers.put(None))
                found = self._answers.get()
        elif self._awaits_message:
            self._send(text)
            found = self._answers.get()
        else:
            raise UsageError(f"say: the conversation has ended, and {text!r:.60} cannot be sent")
        self.single = found or self._running.result()
        if self not in self._trials:
            self._trials.append(self)
        if found is None:
            why = "" if self.failure is None else f": {self.failure.message}"
            raise TrialbedError(f"the agent gave no answer to {text!r:.60}{why}")
        self._awaits_message = True
        return self.turns[-1]

    def end(self) -> None:
        """End the conversation, which completes the trial.

        Raises:
            TrialbedError: nothing was said, or the trial could not be run.
        """
        if self._running is None:
            raise UsageError("conversation: nothing was said; write trial.say(…) in its block")
        if self._awaits_message:
            self._send(None)
        elif not self._running.done():  # the test was interrupted
            self._running.cancel()
            return
        self.single = self._running.result()

    def _send(self, text: str | None) -> None:
        self._awaits_message = False
        self._suite.portal.call(self._messages.put_nowait, text)

    async def _ask_user(self, trial: SingleTrial) -> str | None:
        self._answers.put(trial)
        return await self._messages.get()


OWN = (
    *("frameworks", "commands", "profiles", "dataset", "model", "judge", "environments", "store", "output"),
    "response_cache",
    *("budget", "repeat", "limit", "query_ids", "only_tags", "shuffle", "server_url"),
)
"""Settings that are not keywords here: there is a single trial, it is not stored, and its parts are arguments."""

HELPERS = ("judge_model", "selector_model", "simulator_model", "user_model")
"""Settings that name models other than the agent's."""

DEFAULT = "scripted:gold"


@dataclass(frozen=True)
class AgentProgram:
    """A program that answers a query, in any language, started as ``bench run --command`` does.

    Attributes:
        command: the program and its arguments. Relative paths start at the current folder.
    """

    command: str


def record(single: SingleTrial, file: Path) -> None:
    """Write the model's answers in a trial to a file, as ``bench record`` does.

    Raises:
        DataError: the model gave no answers, or the file cannot be written.
    """
    from trialbed_plugins.recordings import recording_of, write_cassette

    with temporary_folder() as folder:
        store = str(folder / "recorded.db")
        single.keep(store)
        cassette, left_out = recording_of(open_run(single.run.run_id, store))
    if left_out["cut"]:
        raise DataError(
            f"{file}: {left_out['cut']} requests of this trial are too long to be recorded; set max_answer lower"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    write_cassette(cassette, file)


def check_recording(file: Path, model: str) -> None:
    """Check that a recording was made with the model that a test asks for.

    Raises:
        UsageError: it was made with another model.
        DataError: it cannot be read.
    """
    from trialbed_plugins.recordings import read_cassette

    recorded = read_cassette(file).model
    if recorded != model:
        raise UsageError(
            f"{file} is a recording of {recorded}, and not of {model}: give --trialbed-record once to ask it"
        )


@dataclass(frozen=True)
class TestRun:
    """The settings of a test run and the place of a test in it.

    Attributes:
        folder: for temporary files.
        recording: the path prefix of the test's recordings, which are stored with the test.
        snapshot: the path prefix of its snapshots.
        model: the model for trials that name none.
        record: asks real models and stores their answers for later runs.
        live: asks real models if there is no recording.
        update: writes snapshots instead of comparing with them.
        faults: the faults for trials that name none.
    """

    __test__ = False

    folder: Path
    recording: Path
    snapshot: Path
    model: str = DEFAULT
    record: bool = False
    live: bool = False
    update: bool = False
    faults: Any = None


class AgentTrials:
    """Runs agents on tasks, one trial each. This is the value of the fixture ``trialbed``.

    Attributes:
        trials: the trials of this test, in order.
        snapshot: the last accepted calls and answers of the test: ``trial.calls == trialbed.snapshot``.
    """

    def __init__(self, suite: TrialSuite, test: TestRun) -> None:
        self._suite = suite
        self._test = test
        self.trials: list[ObservedTrial] = []
        self.snapshot = Snapshot(self._snapshot_file, update=test.update, log_of=self._log_of)

    @property
    def model(self) -> str:
        """The model for trials that name none."""
        return self._test.model

    def run(
        self,
        agent: Any,
        task: str | Task,
        *,
        tools: Any = (),
        expect: str | Sequence[str] | Expect = (),
        calls: Iterable[Any] | None = None,
        model: Any = None,
        judge: Any = None,
        scorers: Sequence[Any] = (),
        **settings: Any,
    ) -> ObservedTrial:
        """Run an agent once and return the trial.

        A real model is only asked if the test run allows it. Otherwise its recording answers.

        Args:
            agent: a function, a class or an object with ``answer``, as ``trialbed.evaluate`` takes it; a framework's
                name, such as ``crewai:controlled``, which runs in its own process; or an ``AgentProgram``.
            task: the task in words, or a ``Task``, which has the next three arguments.
            tools, expect, calls: as for ``Task``. Scripted models play ``calls``.
            model: a model's name or an object. Defaults to the fixture's model.
            judge, scorers: as for ``trialbed.evaluate``.
            **settings: any other setting of ``bench run``, such as ``timeout``, ``faults``, ``base_url`` and ``seed``.

        Raises:
            TrialbedError: the trial cannot be run; or its model is a real one without a recording; or the trial could
                not be measured, for example because a tool raised an exception.
        """
        if not isinstance(task, Task):
            task = Task(task, tools=tools, expect=expect, calls=calls)
        elif tools or expect or calls is not None:
            raise UsageError("run: give tools, expect and calls to the Task, or its text alone")
        elif len(task.lengths) > 1:
            raise UsageError("run: lengths: a trial has one; parametrize the test by them")
        options, objects, recording = self._parts(agent, task, model=model, judge=judge, scorers=scorers, **settings)
        trial = ObservedTrial(self._suite.run(options, objects))
        self.trials.append(trial)
        self._keep(trial, recording)
        return trial

    @contextmanager
    def conversation(
        self, agent: Any, task: Task | None = None, *, knows: Mapping[str, Any] = MappingProxyType({}), **given: Any
    ) -> Iterator[OpenConversation]:
        """Talk with an agent, in a trial that lasts as long as the ``with`` block: ``reply = trial.say("…")``.

        The first message begins the trial. The end of the block ends and scores it. In between, ``trial`` is the trial
        so far.

        Args:
            agent: as for ``run``. A function needs the parameter ``history``.
            task: a ``Task`` without text, turns and user, for anything beyond ``tools``, ``expect`` and ``calls``.
            knows: facts by name, which the test says when the agent asks for them. Scripted models ask for them, just
                like for the facts of a ``User``.
            **given: as for ``run``: ``tools``, ``expect``, ``calls``, ``model`` and all others.

        Raises:
            TrialbedError: as for ``run``, at the end of the block.
        """
        parts = {name: given.pop(name) for name in ("tools", "expect", "calls") if name in given}
        if task is not None and parts:
            raise UsageError("conversation: give tools, expect and calls to the Task, or leave it out")
        template, recordings = task or Task(**{"tools": (), **parts}), list[Path | None]()

        def start(text: str, user: AskUser) -> Future[SingleTrial]:
            asked = replace(template, user=User(goal=text, kind="caller", knows={**knows}))
            options, objects, recording = self._parts(agent, asked, **given)
            recordings.append(recording)
            return self._suite.start(options, objects, user)

        trial = OpenConversation(self._suite, start, self.trials)
        try:
            yield trial
            trial.end()
        except BaseException:
            with suppress(Exception):
                trial.end()
            raise
        self._keep(trial, *recordings)

    def _parts(
        self,
        agent: Any,
        task: Task,
        *,
        model: Any = None,
        judge: Any = None,
        scorers: Sequence[Any] = (),
        **settings: Any,
    ) -> tuple[RunOptions, RunObjects, Path | None]:
        """Return the parts of a run, and the file to record its model's answers in, if any."""
        misplaced = [field.name for field in fields(Task) if field.name in settings]
        if misplaced:
            raise UsageError(f"run: {misplaced[0]}: is part of a task; give a Task(…, {misplaced[0]}=…)")
        settings = {"faults": self._test.faults} | settings if self._test.faults is not None else settings
        self._check_helpers(judge, settings)
        if isinstance(agent, str) and not agent.strip():
            raise UsageError("run: the agent is an empty text; give a framework's name, such as 'langgraph'")
        program = agent.command if isinstance(agent, AgentProgram) else None
        chosen, recording = self._model(model if model is not None else self._test.model)
        options, objects = run_parts(
            agent if program is None else None,
            TaskDataset([task], "test"),
            {
                "probe": 0,  # an extra request would use up a line of the test's script
                "response_cache": self._test.folder / "responses.db",
                **read_keywords(settings, self.run, OWN),
                **({} if program is None else {"frameworks": (), "commands": (program,)}),
            },
            model=_as_answerer(chosen),
            judge=judge,
            scorers=scorers,
        )
        return options, objects, recording

    def _keep(self, trial: ObservedTrial, recording: Path | None) -> None:
        """Record the model's answers in a trial if the test run asks for it.

        Raises:
            NothingMeasured: the trial was not measured.
        """
        if trial.failure is not None and trial.failure.kind in NOT_MEASURED:
            raise NothingMeasured(
                f"the trial could not be measured, so it says nothing about the agent: {trial.failure.message}"
            )
        if recording is not None and trial.failure is None:
            record(trial.single, recording)

    def _snapshot_file(self, number: int) -> Path:
        return self._test.snapshot.with_name(f"{self._test.snapshot.name}-{number}.txt")

    def _log_of(self, call: ApiCall) -> WireLog | None:
        logs = (trial.result.wire for trial in self.trials)
        return next((log for log in logs if call in log.api_calls), None)

    def _check_helpers(self, judge: Any, settings: Mapping[str, Any]) -> None:
        """Check that the trial asks no other model than the agent's, since only that one is recorded.

        Raises:
            UsageError: it would ask one.
        """
        named = {name: settings[name] for name in HELPERS if settings.get(name) is not None}
        if isinstance(judge, str) and judge not in judge_drivers():
            named["judge"] = judge
        if named and not (self._test.live or self._test.record):
            shown = ", ".join(f"{name}={model!r}" for name, model in named.items())
            raise UsageError(f"{shown}: a model that helps a trial is not recorded; give --trialbed-live to ask it")

    def _model(self, model: Any) -> tuple[Any, Path | None]:
        """Return the model to ask, and the file to record its answers in, if any.

        Raises:
            UsageError: it is a real model without a recording.
        """
        if not isinstance(model, str) or not is_at_endpoint(model, RunOptions()):
            return model, None
        number = len(self.trials) + 1
        file = self._test.recording.with_name(f"{self._test.recording.name}-{number}.cassette")
        if self._test.record:
            return model, file
        if file.is_file():
            check_recording(file, model)
            return f"replay:{file}", None
        if self._test.live:
            return model, None
        raise UsageError(
            f"{model} is a real model, and this trial has no recording of it ({file}). Give --trialbed-record once to "
            "ask it and keep its answers, or --trialbed-live to ask it without"
        )


def _as_answerer(model: Any) -> Any:
    """Return a model in the form the engine calls. A script says its lines in order."""
    if not isinstance(model, Script):
        return model

    async def answer(_request: Any) -> Any:
        return await model(None)

    answer.__name__ = "Script"
    return answer
