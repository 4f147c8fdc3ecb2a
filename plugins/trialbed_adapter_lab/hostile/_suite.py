"""Run attacks beside an innocent framework, and compare what they cost with what they may cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import NothingMeasured
from trialbed.files import temporary_folder
from trialbed_adapter_lab.hostile._attacks import ATTACKS, Attack
from trialbed_adapter_lab.hostile._cheats import CheatResult
from trialbed_adapter_lab.hostile._probes import ReachResult

API = {"category": "Crafts", "tool_name": "Kiln", "api_name": "fire"}
TIMEOUT = 10
"""Seconds that a trial may take."""
MEMORY = "300M"
"""Memory that a trial may use."""
METADATA = "Metadata-Version: 2.1\nName: trialbed-hostile\nVersion: 1.0\n"
ENTRY_POINTS = "[trialbed.frameworks]\nhostile = trialbed_adapter_lab.hostile.agents:Hostile\n"


@dataclass(frozen=True)
class AttackResult:
    """Failures that an attack led to, each as its kind and message; empty where the trial was answered.

    Attributes:
        attack: its name.
        own: of the trial that attacked.
        next: of the next trial of the hostile adapter.
        neighbour: of the innocent framework's trials beside these two.
        held: whether the attack cost its own trial no more than it may, and no other trial anything.
    """

    attack: str
    own: str
    next: str
    neighbour: str
    held: bool


@dataclass(frozen=True)
class HostileReport:
    """The results of the attacks, of the cheats and of the attempts to get at something in one sandbox."""

    framework: str
    sandbox: str
    results: tuple[AttackResult, ...]
    cheats: tuple[CheatResult, ...] = ()
    reach: tuple[ReachResult, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether every one was held."""
        attacks, cheats = all(result.held for result in self.results), all(cheat.held for cheat in self.cheats)
        return attacks and cheats and all(probe.held for probe in self.reach)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a document."""
        return asdict(self)


def run_attacks(
    framework: str,
    sandbox: str = "none",
    attacks: Sequence[Attack] = ATTACKS,
    *,
    timeout: int = TIMEOUT,
    options: Sequence[str] = (),
) -> HostileReport:
    """Run the hostile adapter beside a framework: each attack, and a trial that does no harm after it.

    The run's progress goes to stderr. Nothing of it is kept.

    Args:
        framework: the innocent one, as ``bench run --framework`` takes it.
        sandbox: as ``bench run --sandbox`` takes it.
        attacks: those to carry out.
        timeout: seconds that a trial may take; an attack that does not end takes all of them.
        options: more options of ``bench run``.

    Raises:
        NothingMeasured: the run did not get to its end.
    """
    with temporary_folder() as folder:
        install_hostile_adapter(folder / "site")
        (folder / "attacks.json").write_text(json.dumps({"name": "attacks", "queries": _queries(attacks)}))
        command = [sys.executable, "-P", "-m", "trialbed", "run", "-f", framework, "-f", "hostile"]
        command += ["--dataset", "attacks.json", "--timeout", str(timeout), "--concurrency", "2", "--json"]
        command += ["--sandbox", sandbox, *options]
        done = subprocess.run(
            command,
            cwd=folder,
            env=hostile_environment(folder / "site"),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    try:
        innocent, hostile = map(_failures, json.loads(done.stdout))
    except ValueError:
        raise NothingMeasured(
            f"the run beside hostile agents ended with exit code {done.returncode} and without results"
        ) from None
    results = (_result(attack, innocent, hostile, refusable=sandbox != "none") for attack in attacks)
    return HostileReport(framework, sandbox, tuple(results))


def install_hostile_adapter(folder: Path, metadata: str = METADATA, entry_points: str = ENTRY_POINTS) -> None:
    """Make a folder, for ``PYTHONPATH``, in which hostile adapters are installed."""
    name = metadata.partition("Name: ")[2].partition("\n")[0].replace("-", "_")
    about = folder / f"{name}.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text(metadata)
    (about / "entry_points.txt").write_text(entry_points)


def _queries(attacks: Sequence[Attack]) -> list[dict[str, Any]]:
    return [
        {"query_id": query_id, "text": text, "apis": [API], "gold_calls": [{"api": API, "arguments": {}}]}
        for attack in attacks
        for query_id, text in ((attack.name, attack.name), (_after(attack), "good"))
    ]


def _after(attack: Attack) -> str:
    return f"after {attack.name}"


def hostile_environment(site: Path) -> dict[str, str]:
    """Return this process's environment without settings of runs, with the hostile adapter and its limits."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}
    path = os.pathsep.join(filter(None, (str(site), kept.get("PYTHONPATH"))))
    return kept | {"PYTHONPATH": path, "HOSTILE_ASKS": "1", "TRIALBED_MEMORY_LIMIT": MEMORY}


def _failures(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the failure of each query of one framework, as its kind and message."""
    failures = {entry["query_id"]: entry.get("error") for entry in document["results"]}
    return {query: f"{error['kind']}: {error['message']}" if error else "" for query, error in failures.items()}


def _result(
    attack: Attack, innocent: Mapping[str, str], hostile: Mapping[str, str], *, refusable: bool
) -> AttackResult:
    absent = "no trial"
    own, following = (hostile.get(query, absent) for query in (attack.name, _after(attack)))
    neighbour = innocent.get(attack.name, absent) or innocent.get(_after(attack), absent)
    fits = _fits(attack, own, refusable=refusable)
    return AttackResult(attack.name, own, following, neighbour, fits and not following and not neighbour)


def _fits(attack: Attack, own: str, *, refusable: bool) -> bool:
    """Return whether the attacker's own trial ended as it may. On a busy machine, any may run out of time."""
    kind, _, message = own.partition(": ")
    if kind == "timeout" or (refusable and kind in attack.refused):
        return True
    return kind == attack.kind and attack.message in message if attack.kind else not own
