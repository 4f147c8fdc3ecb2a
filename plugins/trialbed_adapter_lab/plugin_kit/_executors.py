"""The checks of an executor: one trial's fault costs that trial alone, and nothing stays behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from typing import cast

import psutil

from trialbed.contracts import Executor, LostTrial
from trialbed.engine import new_trial_token
from trialbed.errors import DriverError, UsageError
from trialbed.files import temporary_folder
from trialbed.import_path import put_first, take_away
from trialbed.records import FrameworkInfo, Limits, Outcome, TrialKey, TrialSpec
from trialbed_adapter_lab.conformance import expect, must
from trialbed_adapter_lab.errors import CheckFailed, NotTried
from trialbed_adapter_lab.hostile import install_hostile_adapter
from trialbed_adapter_lab.plugin_kit._check import PluginSubject, expect_kind
from trialbed_adapter_lab.plugin_kit._samples import ENDPOINT

AGENT = "hostile"
"""An agent whose query names its deed."""

SECONDS = 60.0
"""That a worker may take to start and to run one trial, on a busy machine."""

TIMEOUT = 5.0


@asynccontextmanager
async def _enter(subject: PluginSubject, accepted: Collection[str] | None = None) -> AsyncIterator[Executor]:
    """An executor whose workers find the agent, with all of its nodes or some of them accepted."""
    with temporary_folder() as folder:
        install_hostile_adapter(folder)
        put_first(str(folder))
        try:
            async with cast("Executor", subject.thing(environments={})) as executor:
                for node in await _nodes(executor):
                    if accepted is None or node in accepted:
                        await executor.describe(AGENT, node)
                        executor.accept(node)
                yield executor
        finally:
            take_away(str(folder))


async def _nodes(executor: Executor) -> tuple[str, ...]:
    """The names of its nodes, once there are some; none for an executor without nodes."""
    end = time.monotonic() + SECONDS
    while (found := executor.nodes()) is not None and not found:
        expect(time.monotonic() < end, f"a node within {SECONDS:g} s", "none")
        await asyncio.sleep(0.1)
    return tuple(node.name for node in found or ())


async def _with_nodes(executor: Executor) -> tuple[str, ...]:
    """Return the names of its nodes.

    Raises:
        NotTried: it has none.
    """
    found = await _nodes(executor)
    if not found:
        raise NotTried("it has no nodes")
    return found


async def _run(executor: Executor, does: str, *, seconds: float = SECONDS, fresh: bool = False) -> Outcome:
    """The outcome of a trial whose agent does this.

    Raises:
        CheckFailed: there is none.
    """
    what = f"an outcome of a trial whose agent does {does!r}"
    found = await _execute(executor, does, seconds=seconds, fresh=fresh)
    expect_kind(what, found, Outcome)
    assert isinstance(found, Outcome)  # noqa: S101 - for mypy: checked above
    return found


async def _execute(executor: Executor, does: str, *, seconds: float, fresh: bool = False) -> Outcome | LostTrial:
    token = new_trial_token()
    spec = TrialSpec.at(
        f"http://127.0.0.1:9/t/{token}",
        ENDPOINT,
        key=TrialKey(framework=AGENT, query_id=does),
        query=does,
        system_prompt="",
        tools=(),
        limits=Limits(max_steps=5, timeout=seconds),
        fresh=fresh,
    )
    what = f"an outcome of a trial whose agent does {does!r}"
    try:
        async with asyncio.timeout(seconds + SECONDS):
            found = await executor.execute(spec)
    except TimeoutError as error:
        raise CheckFailed(f"expected {what}; seen: none within {seconds + SECONDS:g} s") from error
    except Exception as error:
        raise CheckFailed(f"expected {what}; seen: execute raised {type(error).__name__}: {error}") from error
    return found


def _expect_failure(outcome: Outcome, *kinds: str) -> None:
    seen = "an answer" if outcome.failure is None else f"{outcome.failure.kind}: {outcome.failure.message}"
    right = outcome.failure is not None and outcome.failure.kind in kinds
    expect(right, f"a failure of kind {' or '.join(kinds)}", seen)


def _expect_answer(outcome: Outcome, when: str) -> None:
    seen = f"{outcome.failure.kind}: {outcome.failure.message}" if outcome.failure else outcome.answer
    text = outcome.answer.final_answer if outcome.answer else None
    expect(text == "fine", f"the agent's answer 'fine' {when}", seen if isinstance(seen, str) else repr(seen))


@must(
    reason="Results name the framework and its version.",
    hint="Pass on the info of the worker's ready message, with the label asked for.",
)
async def frameworks_are_described(subject: PluginSubject) -> None:
    """It describes a framework as its worker reports it, and refuses an unknown one with a DriverError."""
    async with _enter(subject) as executor:
        node = next(iter(await _nodes(executor)), "")
        info = await executor.describe(AGENT, node)
        expect_kind("the description", info, FrameworkInfo)
        expect(
            (info.name, info.version) == (AGENT, "6.6.6"),
            "the name and version of the worker",
            f"{info.name} {info.version}",
        )
        try:
            await executor.describe("no-such-framework", node)
        except DriverError as error:
            expect(bool(str(error).strip()), "a DriverError that says why", "an empty text")
        except Exception as error:
            raise CheckFailed(f"expected a DriverError; seen: {type(error).__name__}: {error}") from error
        else:
            expect(False, "a DriverError for an unknown framework", "a description")


@must(
    reason="Times of a first trial are kept apart.",
    hint="Set Outcome.first for the first trial of a process, and start a new one for a fresh trial.",
)
async def answers_come_with_their_circumstances(subject: PluginSubject) -> None:
    """An answer is passed on, with its wall time; the first trial of a process says so, and a fresh one is first."""
    async with _enter(subject) as executor:
        first, second = await _run(executor, "good"), await _run(executor, "good")
        for outcome in (first, second):
            _expect_answer(outcome, "in each trial")
            expect(0 <= outcome.wall_time < SECONDS, "a wall time of the trial alone", outcome.wall_time)
        expect(first.first, "first of the first trial of a process", first.first)
        if not second.first:
            expect(subject.thing.reuses_workers, "reuses_workers, as a process ran two trials", "False")
        fresh = await _run(executor, "good", fresh=True)
        expect(fresh.first, "a new process for a trial that is to be fresh", "one that ran others")


@must(
    reason="A crash must not cost the run.",
    hint="Return an Outcome with a failure; never raise for a fault of a trial.",
)
async def a_trial_that_breaks_costs_itself_alone(subject: PluginSubject) -> None:
    """A worker that ends and an agent that raises are failures of their kinds; the next trial is answered."""
    async with _enter(subject) as executor:
        _expect_failure(await _run(executor, "exit code"), "crash")
        _expect_answer(await _run(executor, "good"), "after a crash")
        _expect_failure(await _run(executor, "raise error"), "agent")
        _expect_answer(await _run(executor, "good"), "after an exception")


@must(
    reason="A trial that hangs must not hold up the run.",
    hint="End the worker when limits.timeout has passed, and say timeout.",
)
async def a_trial_that_hangs_is_ended(subject: PluginSubject) -> None:
    """A trial past its timeout is a failure of kind timeout, also where the agent never yields."""
    async with _enter(subject) as executor:
        await executor.describe(AGENT, next(iter(await _nodes(executor)), ""))
        for does in ("sleep", "busy loop"):
            _expect_failure(await _run(executor, does, seconds=TIMEOUT), "timeout")
        _expect_answer(await _run(executor, "good"), "after a trial that hung")


@must(reason="--concurrency is the user's to choose.", hint="Start a worker for each trial that has none.")
async def trials_run_side_by_side(subject: PluginSubject) -> None:
    """Three trials at once are answered, each by itself."""
    async with _enter(subject) as executor:
        for outcome in await asyncio.gather(*(_run(executor, "good") for _ in range(3))):
            _expect_answer(outcome, "of three trials at once")


@must(
    reason="Processes that stay use up the machine, and can go on asking the model.",
    hint="End the worker, and all that it started, in __aexit__ and when execute is cancelled.",
)
async def nothing_stays_behind(subject: PluginSubject) -> None:
    """A trial that is cancelled is ended, and when the executor is left no worker is there."""
    before = {*psutil.Process().children(recursive=True)}
    async with _enter(subject) as executor:
        await executor.describe(AGENT, next(iter(await _nodes(executor)), ""))
        task = asyncio.create_task(_run(executor, "sleep"))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.wait([task], timeout=SECONDS)
        expect(task.done(), "an end of a trial that is cancelled", "it goes on")
    end = time.monotonic() + TIMEOUT
    while (left := _living({*psutil.Process().children(recursive=True)} - before)) and time.monotonic() < end:  # noqa: ASYNC110 - the system announces no end of these
        await asyncio.sleep(0.1)
    expect(not left, "no process that it started, when it is left", [process.pid for process in left])


@must(
    reason="An option that does nothing misleads whoever gives it.",
    hint="Name options in option_names, and leave the refusal of others to check_options of the base class.",
)
async def unknown_options_are_refused(subject: PluginSubject) -> None:
    """``check_options`` takes no option, and refuses one without a meaning with a UsageError."""
    try:
        subject.thing.check_options({})
    except Exception as error:
        raise CheckFailed(f"expected no options to be enough; seen: {type(error).__name__}: {error}") from error
    try:
        subject.thing.check_options({"no-such-option": "1"})
    except UsageError as error:
        expect("no-such-option" in str(error), "a UsageError that names the option", str(error))
    except Exception as error:
        raise CheckFailed(f"expected a UsageError; seen: {type(error).__name__}: {error}") from error
    else:
        expect(False, "a UsageError for an unknown option", "none")


@must(
    reason="The engine compares what is installed on all nodes, and counts their capacity.",
    hint="Give each node a name of its own, and describe a framework by a worker that runs there.",
)
async def nodes_have_names_and_room(subject: PluginSubject) -> None:
    """Each node has a name of its own and room for a trial, and describes frameworks."""
    async with _enter(subject) as executor:
        names = await _with_nodes(executor)
        expect(all(names) and len({*names}) == len(names), "a name of its own for each node", names)
        room = {node.name: node.capacity for node in executor.nodes() or ()}
        expect(all(number > 0 for number in room.values()), "room for a trial on each node", room)
        for name in names:
            info = await executor.describe(AGENT, name)
            expect(info.name == AGENT, f"a description by the node {name}", info.name)


@must(
    reason="A node with other packages would measure another framework.",
    hint="Run trials on nodes that accept() was called for, and say in Outcome.node which one it was.",
)
async def trials_run_on_accepted_nodes(subject: PluginSubject) -> None:
    """Trials run on the one node that is accepted, and say so, also where there are more than it has room for."""
    async with _enter(subject, ()) as executor:
        # Not the first, which one that asks for no leave would take.
        *_, last = await _with_nodes(executor)
        await executor.describe(AGENT, last)
        executor.accept(last)
        room = sum(node.capacity for node in executor.nodes() or () if node.name == last)
        trials = (_execute(executor, "good", seconds=SECONDS) for _ in range(room + 1))
        # The engine asks for no more than there is room for, so that one may be refused.
        ran = [found.node for found in await asyncio.gather(*trials) if isinstance(found, Outcome)]
        expect(
            {*ran} == {last} and len(ran) >= room, f"{room} trials or more on {last} alone, as Outcome.node says", ran
        )


@must(
    reason="A node that loses one trial after the other would use up the attempts of all.",
    hint="Begin no trial on nodes that refuse() was called for; let those end that run there.",
)
async def refused_nodes_run_no_further_trials(subject: PluginSubject) -> None:
    """After a node is refused, trials run on the others."""
    async with _enter(subject) as executor:
        names = await _with_nodes(executor)
        if len(names) == 1:
            raise NotTried("it has one node")
        room = {node.name: node.capacity for node in executor.nodes() or ()}
        # One that does not care would take the node with most room.
        refused = max(names, key=lambda name: room[name])
        executor.refuse(refused)
        trials = (_execute(executor, "good", seconds=SECONDS) for _ in range(2))
        ran = {found.node for found in await asyncio.gather(*trials) if isinstance(found, Outcome)}
        expect(bool(ran) and refused not in ran, f"trials on other nodes than {refused}, as Outcome.node says", ran)


@must(
    reason="A lost node is no fault of the framework: its trials run again as new ones, with nothing counted twice.",
    hint="Return LostTrial with the node's name, after nodes() has less of it.",
)
async def a_lost_node_costs_a_trial_nothing(subject: PluginSubject) -> None:
    """A trial whose node is lost is a LostTrial, nodes() has less of it then, and others run where nodes are left."""
    async with _enter(subject) as executor:
        before = {node.name: node.capacity for node in executor.nodes() or ()}
        await _with_nodes(executor)
        trials = [
            asyncio.create_task(_execute(executor, "sleep", seconds=SECONDS)) for _ in range(sum(before.values()))
        ]
        await asyncio.sleep(0.5)
        name = next(iter(before))
        try:
            await executor.lose(name)
        except NotImplementedError:
            raise NotTried("it has no lose(), which ends a node") from None
        else:
            done, _ = await asyncio.wait(trials, timeout=SECONDS / 2, return_when=asyncio.FIRST_COMPLETED)
            expect(bool(done), "an end of a trial whose node is lost", "none")
            found = done.pop().result()
            expect_kind("what a trial ends with whose node is lost", found, LostTrial)
            assert isinstance(found, LostTrial)  # noqa: S101 - for mypy: checked above
            expect(found.node == name and bool(found.reason), f"the name {name} and a reason", repr(found))
            after = {node.name: node.capacity for node in executor.nodes() or ()}
            expect(after.get(name, 0) < before[name], f"less room on {name} than {before[name]}", after)
        finally:
            for trial in trials:
                trial.cancel()
            await asyncio.gather(*trials, return_exceptions=True)
        if sum(after.values()):
            _expect_answer(await _run(executor, "good"), "on a node that is left")


def _living(processes: set[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found += [process] if process.status() != psutil.STATUS_ZOMBIE else []
    return found
