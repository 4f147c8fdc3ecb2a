"""The executors of the how-to guide run trials on clusters that are played, and lose one."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from support.bench import bench_in

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-an-executor.md"
KUBECTL = f"""\
#!{sys.executable}
import os, sys
assert sys.argv[1:4] == ["--namespace", "default", "run"], sys.argv
order = sys.stdin.read()
seen = os.path.exists("lost")
if '"trial":{{' in order and not seen:
    open("lost", "w").close()
    sys.exit("pod was evicted")
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


@pytest.mark.slow(20)
@pytest.mark.parametrize(
    ("name", "options", "node"),
    [
        ("kubernetes.py:KubernetesExecutor", ("image=i", "host=127.0.0.1"), "a pod"),
        ("slurm.py:SlurmExecutor", ("host=127.0.0.1",), "a node of Slurm"),
    ],
)
def test_an_executor_of_the_guide_runs_trials_and_loses_one(
    name: str, options: tuple[str, ...], node: str, tmp_path: Path
) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / block.split()[1]).write_text(block, encoding="utf-8")
    (tmp_path / "submitit.py").write_text(SUBMITIT, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").write_text(KUBECTL, encoding="utf-8")
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))
    bench = bench_in(tmp_path, {**os.environ, "PATH": path})
    given = [part for option in options for part in ("--executor-option", option)]
    ended = bench("run", "--executor", f"./{name}", *given, "--limit", "2", "-j", "1", "--json")
    assert f"{node} was lost" in ended.err
    assert ended.document["metadata"]["lost_trials"] == {node: 1}
    assert [result["status"] for result in ended.document["results"]] == ["answered", "answered"]
