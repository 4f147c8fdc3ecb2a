"""Runs of agents that do harm, cheat or snoop, which are installed for workers only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from support.bench import own_environment

from trialbed.store import StoredRun, open_store

STORE = "harm.db"
API = {"category": "Crafts", "tool_name": "Kiln", "api_name": "fire"}
METADATA = "Metadata-Version: 2.1\nName: hostile-agents\nVersion: 1.2\n"
ENTRY_POINTS = """\
[trialbed.frameworks]
hostile = support.hostile.agents:Hostile
blocking = support.hostile.agents:Blocking
badly-closing = support.hostile.agents:BadlyClosing
other-contract = support.hostile.agents:OtherContract
ending = support.hostile.agents:Ending
no-agent = support.hostile.agents:NoAgent
broken-import = support.hostile.broken_import:Agent
crashing-import = support.hostile.crashing_import:Agent
cheating = support.hostile.cheating:Cheating
snooping = support.hostile.cheating:Snooping
[trialbed.datasets]
cheats = support.hostile.tasks:CheatTasksDriver
"""


def install_hostile_agents(folder: Path) -> Path:
    """Make a folder, for ``PYTHONPATH``, that has the agents and the dataset ``cheats``."""
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(__file__).with_name("hostile"), folder / "support" / "hostile", ignore=left_out)
    about = folder / "hostile_agents-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(METADATA)
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@contextmanager
def hostile_run(
    folder: Path,
    arguments: Sequence[str],
    variables: Mapping[str, str] = MappingProxyType({}),
    program: Sequence[str] = (sys.executable, "-P"),
) -> Iterator[StoredRun]:
    """Run ``bench run`` in a folder with the agents, and yield the run.

    It is executed, not forked from a process of the tests: its workers would begin with the memory of that process.

    Args:
        program: the interpreter that has Trialbed.
    """
    if not (folder / "site").exists():
        install_hostile_agents(folder / "site")
    path = os.pathsep.join(filter(None, (str(folder / "site"), os.environ.get("PYTHONPATH"))))
    own = {
        "PYTHONPATH": path,
        "HOSTILE_ASKS": "1",
        "TRIALBED_PASS_ENV": ",".join(["HOSTILE_ASKS", *(name for name in variables if name.startswith("HOSTILE_"))]),
        "TRIALBED_MEMORY_LIMIT": "300M",
    }
    command = [*program, "-m", "trialbed", "run", "--store", STORE, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=own_environment(**own, **variables), capture_output=True, text=True, check=False
    )
    assert (folder / STORE).exists(), done.stderr
    with open_store(str(folder / STORE)) as reader:
        yield reader.run("latest")
