"""A user's machine on which frameworks get environments of their own, with real uv and an index of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from support.bench import Finished, bench_in
from support.distributions import THIRD_PARTY
from support.index import Index

AGENT = THIRD_PARTY / "trialbed-acme" / "src" / "trialbed_acme" / "agent.py"
POINTS = "[trialbed.frameworks]\nacme = trialbed_acme:AcmeAgent\n"
ACME = "[trialbed.frameworks]\nacme = trialbed_acme:Agent\n"


@dataclass
class Machine:
    """A user's machine: a folder for environments, uv's cache, and an index."""

    folder: Path
    index: Index
    variables: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def env_dir(self) -> Path:
        return self.folder / "environments"

    def start(self, *arguments: object, **more: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "trialbed", *map(str, arguments)],
            cwd=self.folder,
            env=self.variables,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | more,
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        """End what a failed test left."""
        for process in self.started:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def bench(self, *arguments: object, code: int = 0) -> Finished:
        return bench_in(self.folder, self.variables, timeout=600)(*arguments, code=code)

    def add(self, *arguments: object) -> dict[str, Any]:
        """Build one environment and return what is said of it."""
        (row,) = json.loads(self.bench("env", "add", *arguments, "--json").out)
        return dict(row)

    def listed(self) -> list[dict[str, Any]]:
        return list(json.loads(self.bench("env", "list", "--json").out))


def publish_acme(index: Index, *releases: str) -> None:
    """A framework in these releases, and its adapter."""
    for release in releases:
        index.publish("acme", release, modules={"acme": f"VERSION = {release!r}\n"})
    index.publish("trialbed-acme", "0.3", requires=["trialbed", "acme>=1"], entry_points=ACME)


def publish_acme_agent(index: Index, **changes: str) -> None:
    """The real adapter of the framework, whose version is that of its package; with other text in places."""
    agent = AGENT.read_text(encoding="utf-8")
    for old, new in {'return "7.0"': 'return __import__("acme").VERSION', **changes}.items():
        assert old in agent
        agent = agent.replace(old, new)
    requires = ["trialbed", "acme>=1", "httpx"]
    index.publish("trialbed-acme", "0.4", requires=requires, modules={"trialbed_acme": agent}, entry_points=POINTS)


def as_if_installed_from(wheel: Path, folder: Path) -> Path:
    """Metadata of Trialbed that stand before the real ones on ``sys.path``, and name this wheel as their origin."""
    real = distribution("trialbed")
    shown = folder / f"trialbed-{real.version}.dist-info"
    shown.mkdir(parents=True)
    (shown / "METADATA").write_text(f"Metadata-Version: 2.1\nName: trialbed\nVersion: {real.version}\n")
    (shown / "entry_points.txt").write_text(real.read_text("entry_points.txt") or "")
    (shown / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    return folder
