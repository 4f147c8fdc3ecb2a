"""Read a checkout of MASBench, with its agents, its data and its published figures."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from trialbed.errors import DataError, UsageError
from trialbed.files import read_bytes

PLACE = Path("single_agent", "tool_use")
"""The folder of the experiment on tools in a checkout."""

FRAMEWORKS: Mapping[str, str] = {
    "langgraph": "langgraph",
    "crewai": "crewai",
    "autogen": "autogen-agentchat",
    "openai_sdk": "openai-agents",
    "agno": "agno",
}
"""Folder of an agent -> the distribution of its framework."""

Json = dict[str, object]


@dataclass(frozen=True)
class CheckoutAgent:
    """An agent of a checkout.

    Attributes:
        file: its code; None if the checkout lacks it.
    """

    name: str
    file: Path | None

    def problem(self, python: str | None) -> str:
        """Return why it cannot be run, and what to do; empty if it can.

        Args:
            python: its interpreter; None for this one.
        """
        if self.file is None:
            return "the checkout has no agent.py for it"
        distribution = FRAMEWORKS.get(self.name)
        if python is not None or distribution is None or _is_installed(distribution):
            return ""
        return (
            f"{distribution} is not installed here; in the checkout of Trialbed, make an environment (uv venv "
            f"{self.name} && uv pip install --python {self.name} -e . -e 'compatibility/masbench[{self.name}]'), and "
            f"give --python {self.name}={self.name}/bin/python"
        )

    def command(self, python: str | None, api: str) -> str:
        """Return the program that answers a query with it, as ``bench run --command`` takes it."""
        words = [python or sys.executable, "-m", "trialbed_masbench.agent", str(self.file), api]
        return f"{self.name}={shlex.join(words)}"


@dataclass(frozen=True)
class Published:
    """The figures of one result file of an agent.

    Attributes:
        scores: query -> its ``sopr_score`` and ``api_call_score``, failed ones 0 as MASBench counts them.
        failed: how many of them ended in an error.
    """

    file: Path
    test_set: str
    model: str
    timestamp: str
    scores: Mapping[str, tuple[float, float]]
    failed: int

    def means(self) -> tuple[float, float]:
        """Return the mean of each score."""
        count = len(self.scores)
        solved, called = zip(*self.scores.values(), strict=True)
        return sum(solved) / count, sum(called) / count


class Checkout:
    """A checkout.

    Args:
        folder: the repository, or its ``single_agent/tool_use``.

    Raises:
        UsageError: it is neither.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve()
        self.folder = self.root / PLACE if (self.root / PLACE).is_dir() else self.root
        if not (self.folder / "agents").is_dir():
            raise UsageError(f"{folder}: there is neither {PLACE}/agents nor agents in it; name a checkout of MASBench")

    def agents(self, names: Sequence[str] = ()) -> list[CheckoutAgent]:
        """Return the agents of these names, or all.

        Raises:
            UsageError: a name has no agent.
        """
        folders = sorted(path for path in (self.folder / "agents").iterdir() if (path / "__init__.py").is_file())
        found = {path.name: CheckoutAgent(path.name, _existing(path / "agent.py")) for path in folders}
        unknown = [name for name in names if name not in found]
        if unknown:
            raise UsageError(f"--agent {unknown[0]}: the checkout has {', '.join(found) or 'no agents'}")
        return [found[name] for name in names or found]

    @property
    def data(self) -> Path | None:
        """The folder with StableToolBench's queries, if it is there."""
        return _existing(self.folder / "StableToolBench")

    @property
    def responses(self) -> Path | None:
        """The folder of cached responses, if it is there."""
        return _existing(self.folder / "tool_response_cache")

    def published(self, agent: str, test_set: str) -> Published | None:
        """Return the figures that the checkout publishes for an agent and a test set.

        Of several files the one with the fewest errors counts, and of those the latest.

        Raises:
            DataError: a result file cannot be read.
        """
        places = [place / "results" / "tools" for place in dict.fromkeys((self.root, self.folder.parents[1]))]
        files = sorted(path for place in places for path in place.glob(f"{agent}_agent_*.json"))
        read = [found for path in files if (found := _read(path)).test_set == test_set and found.scores]
        return max(read, key=lambda found: (-found.failed, found.timestamp), default=None)


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _read(path: Path) -> Published:
    try:
        document = json.loads(read_bytes(path))
        about, entries = document["metadata"], document["results"]
        scores = {
            str(entry["query_id"]): (float(entry["scores"]["sopr_score"]), float(entry["scores"]["api_call_score"]))
            for entry in entries
        }
        return Published(
            file=path,
            test_set=about["test_set"],
            model=str(about.get("evaluator_model", "")),
            timestamp=str(about.get("timestamp", "")),
            scores=scores,
            failed=sum("error" in entry for entry in entries),
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path}: not a result file of MASBench: {type(error).__name__}: {error}") from error
