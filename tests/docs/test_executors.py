"""The executors of the examples run trials on simulated clusters, and lose one."""

from __future__ import annotations

import os
import runpy
import shutil
import sys
from pathlib import Path

import pytest
from support.bench import bench_in

from trialbed.contracts import LostTrial
from trialbed.errors import DriverBroken, NothingMeasured, UsageError
from trialbed.records import Limits, ModelEndpoint, TrialKey, TrialSpec

EXAMPLES = Path(__file__).parents[2] / "examples" / "executors"
SPEC = TrialSpec.at(
    "http://10.0.0.7:1/t/token",
    ModelEndpoint(base_url="", api_key="none", model="none"),
    key=TrialKey(framework="reference", query_id=1),
    query="",
    system_prompt="",
    tools=(),
    limits=Limits(),
)
KUBECTL = f"""\
#!{sys.executable}
import os, sys
assert sys.argv[1:4] == ["--namespace", "default", "run"], sys.argv
order = sys.stdin.read()
seen = os.path.exists("lost")
if '"trial":{{' in order and not seen:
    open("lost", "w").close()
    sys.stderr.write("pod default/trialbed terminated (OOMKilled)")
    sys.exit(137)
program = sys.argv[sys.argv.index("--") + 2:]
reading, writing = os.pipe()
os.write(writing, order.encode())
os.close(writing)
os.dup2(reading, 0)
os.execv(sys.executable, [sys.executable, *program])
"""
SUBMITIT = """\
import asyncio, os, subprocess, sys
from types import SimpleNamespace


class UncompletedJobError(Exception): ...
class FailedJobError(Exception): ...


core = SimpleNamespace(utils=SimpleNamespace(UncompletedJobError=UncompletedJobError, FailedJobError=FailedJobError))


class Job:
    def __init__(self, order):
        self.order = order

    def awaitable(self):
        return self

    async def result(self):
        if '"trial":{' in self.order and not os.path.exists("lost"):
            open("lost", "w").close()
            raise UncompletedJobError("Job 7 (task: 0) was lost: NODE_FAIL")
        command = [sys.executable, "-m", "trialbed_plugins.executors.job"]
        done = await asyncio.to_thread(subprocess.run, command, input=self.order, stdout=-1, text=True, check=True)
        return done.stdout


class AutoExecutor:
    def __init__(self, folder): ...
    def update_parameters(self, timeout_min, slurm_partition): ...
    def submit(self, function, order):
        assert function.__name__ == "run_job"
        return Job(order)
"""


def write_executors(folder: Path, kubectl: str) -> None:
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "kubectl").write_text(kubectl, encoding="utf-8")
    (folder / "bin" / "kubectl").chmod(0o755)


async def test_a_job_that_refuses_its_trial_is_no_lost_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_executors(tmp_path, '#!/bin/sh\necho "no such framework" >&2\nexit $(cat status)\n')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    executor = runpy.run_path("kubernetes.py")["KubernetesExecutor"]()
    executor.options = {"image": "i", "host": "10.0.0.7"}
    executor.connect("http://10.0.0.7:1")
    for status in (1, 137, 143):
        (tmp_path / "status").write_text(str(status), encoding="utf-8")
        assert await executor.execute(SPEC) == LostTrial("a pod", "no such framework")
    for refusal in (UsageError, NothingMeasured):
        (tmp_path / "status").write_text(str(refusal.exit_code), encoding="utf-8")
        with pytest.raises(DriverBroken, match="a pod cannot carry out the trial: no such framework"):
            await executor.execute(SPEC)


@pytest.mark.slow(20)
@pytest.mark.parametrize(
    ("name", "options", "node"),
    [
        ("kubernetes.py:KubernetesExecutor", ("image=i", "host=127.0.0.1"), "a pod"),
        ("slurm.py:SlurmExecutor", ("host=127.0.0.1",), "a node of Slurm"),
    ],
)
def test_an_executor_of_the_examples_runs_trials_and_loses_one(
    name: str, options: tuple[str, ...], node: str, tmp_path: Path
) -> None:
    write_executors(tmp_path, KUBECTL)
    (tmp_path / "submitit.py").write_text(SUBMITIT, encoding="utf-8")
    path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))
    bench = bench_in(tmp_path, {**os.environ, "PATH": path})
    given = [part for option in options for part in ("--executor-option", option)]
    ended = bench("run", "--executor", f"./{name}", *given, "--limit", "2", "-j", "1", "--json")
    assert f"{node} was lost" in ended.err
    assert ended.document["metadata"]["lost_trials"] == {node: 1}
    assert [result["status"] for result in ended.document["results"]] == ["answered", "answered"]
