"""Scoring in processes: equal scores, and what passes a limit ends only there."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest
from support.scoring import api_call, context

from trialbed.contracts import Judge, Verdict
from trialbed.listeners import Listeners
from trialbed.plugins import installed_listeners
from trialbed.records import Answer, Query, Score, WireLog
from trialbed.scoring import ScoreContext, ScoringStopped, judge_apart, trial_size
from trialbed.scoring_process import ScoringProcesses
from trialbed_evaluation.judges.rule import RuleJudge
from trialbed_plugins.scorers import score_trial

PLUGIN = """
import os, re, signal, sys
from trialbed import Score, hookimpl

@hookimpl
def score_trial(context):
    print("this is no message")
    what = context.text
    if what == "exponential":
        # Not at the limit of a real run, which would take a minute.
        signal.setitimer(signal.ITIMER_PROF, 0.3)
        re.fullmatch("(a+)+b", "a" * 60)
    if what == "error":
        raise KeyError("no such thing")
    return [Score(name="process", value=float(os.getpid()), bounded=False)]
"""

METADATA = "Metadata-Version: 2.1\nName: trialbed-heavy\nVersion: 1.0\n"


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A distribution with a plugin."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "heavy_plugin.py").write_text(PLUGIN)
    info = folder / "trialbed_heavy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text("[trialbed.plugins]\nheavy = heavy_plugin\n")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture
async def heard(distribution: Path) -> AsyncIterator[Listeners]:
    """The installed plugins, with processes for what is not to be scored here."""
    listeners = installed_listeners()
    async with ScoringProcesses() as processes:
        listeners.elsewhere = processes
        yield listeners


def trial(text: str, judge: Judge | None = None) -> ScoreContext:
    return context(
        ["a"], [api_call("a", {}, response={"value": "4242"})], judge=judge or RuleJudge(), final_answer=text
    )


async def by_name(listeners: Listeners, scored: ScoreContext) -> dict[str, Score]:
    return {score.name: score for score in await listeners.score(scored)}


async def test_what_passes_a_limit_costs_its_own_scores_alone(heard: Listeners) -> None:
    whole = await by_name(heard, trial("light"))
    assert whole["process"].value != os.getpid()
    assert (await by_name(heard, trial("light")))["process"] == whole["process"], "a process serves many trials"
    for text, reason in {"exponential": "takes more than 60 s of work", "error": "KeyError: 'no such thing'"}.items():
        found = await by_name(heard, trial(text))
        failure = found["heavy:failed"].failure
        assert failure is not None
        assert reason in failure.message
        assert set(found) - {"heavy:failed"} == set(whole) - {"process"}
    assert (await by_name(heard, trial("light")))["process"].value not in (os.getpid(), whole["process"].value)


async def test_a_function_that_passes_a_limit_is_stopped() -> None:
    async with ScoringProcesses() as processes:
        assert await processes.call(len, "text") == 4
        with pytest.raises(RuntimeError, match="TypeError: object of type 'int'"):
            await processes.call(len, 4)
        with pytest.raises(ScoringStopped, match="needs more than 4 GiB of memory"):
            await processes.call(bytearray, 5 * 2**30)
        with pytest.raises(ScoringStopped, match="ended its process with code 5"):
            await processes.call(os._exit, 5)


async def test_scores_are_the_same_in_a_process_and_here(heard: Listeners) -> None:
    long = trial("It is 4242. " * 10_000)
    assert trial_size(long.answer, long.wire) == "large"
    here = {score.name: score for score in await score_trial(long)}
    assert (await by_name(heard, long)).items() >= here.items()


class Own(Judge):
    """A judge of the program, which only it can ask."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        self.asked.append(answer.final_answer)
        if len(self.asked) == 2:
            raise KeyError("no such answer")
        return Verdict(status="Unsure", value=0.5, reason="own", votes=("Unsure",))


async def test_a_judge_of_the_program_is_asked_about_a_trial_that_a_process_reads() -> None:
    own, long = Own(), "It is 4242. " * 10_000
    async with judge_apart(own) as judge, ScoringProcesses() as processes:
        (found, failed) = [await processes.judge_score(trial(long, judge)) for _ in range(2)]
    assert own.asked == [long, long]
    assert (found.value, found.detail["reason"]) == (0.5, "own")
    assert failed.failure is not None
    assert failed.failure.message.startswith(f"judge rule: KeyError: 'no such answer' (File \"{__file__}\", line ")


USER = """
import asyncio, os
from trialbed.scoring_process import ScoringProcesses

print("ran", flush=True)

async def main():
    async with ScoringProcesses() as processes:
        print(await processes.call(os.getpid), flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_a_process_ends_with_the_program_and_runs_neither_it_nor_its_folders_modules(tmp_path: Path) -> None:
    script, folder = tmp_path / "mine.py", tmp_path / "folder"
    script.write_text(USER)
    folder.mkdir()
    (folder / "pickle.py").write_text("raise SystemExit('the wrong module')")
    program = await asyncio.create_subprocess_exec(
        sys.executable, str(script), stdout=asyncio.subprocess.PIPE, cwd=folder
    )
    assert program.stdout is not None
    assert await program.stdout.readline() == b"ran\n"
    process = psutil.Process(int(await program.stdout.readline()))
    program.kill()
    await program.wait()
    await asyncio.to_thread(process.wait, 60)
