"""Runs of agents that do harm: their installation for a run alone, and the store that it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from trialbed.errors import NothingMeasured, TrialbedError
from trialbed.store import StoredRun, open_store
from trialbed_adapter_lab.hostile.agents import STORE

API = {"category": "Crafts", "tool_name": "Kiln", "api_name": "fire"}
MEMORY = "300M"
"""Memory that a trial may use."""
METADATA = "Metadata-Version: 2.1\nName: trialbed-hostile\nVersion: 1.0\n"
ENTRY_POINTS = """[trialbed.frameworks]
hostile = trialbed_adapter_lab.hostile.agents:Hostile
cheating = trialbed_adapter_lab.hostile.agents:Cheating
snooping = trialbed_adapter_lab.hostile.agents:Snooping
[trialbed.datasets]
cheats = trialbed_adapter_lab.hostile._tasks:CheatTasksDriver
"""


def install_hostile_adapter(folder: Path, metadata: str = METADATA, entry_points: str = ENTRY_POINTS) -> None:
    """Make a folder, for ``PYTHONPATH``, in which hostile adapters and the dataset ``cheats`` are installed."""
    name = metadata.partition("Name: ")[2].partition("\n")[0].replace("-", "_")
    about = folder / f"{name}.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text(metadata)
    (about / "entry_points.txt").write_text(entry_points)


@contextmanager
def hostile_run(
    folder: Path, arguments: Sequence[str], variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[StoredRun]:
    """Run ``bench run`` in a folder with hostile agents, and yield the run; its progress goes to stderr.

    Args:
        arguments: of ``bench run``.
        variables: of its environment, which has no settings of other runs.

    Raises:
        NothingMeasured: the run did not get to its end.
    """
    site = folder / "site"
    install_hostile_adapter(site)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}
    path = os.pathsep.join(filter(None, (str(site), kept.get("PYTHONPATH"))))
    own = {"PYTHONPATH": path, "HOSTILE_ASKS": "1", "TRIALBED_MEMORY_LIMIT": MEMORY}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "trialbed", "run", "--store", STORE, *arguments],
        cwd=folder,
        env={**kept, **own, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    try:
        with open_store(str(folder / STORE)) as reader:
            yield reader.run("latest")
    except TrialbedError as error:
        raise NothingMeasured(f"the run of hostile agents ended with exit code {done.returncode}: {error}") from error
