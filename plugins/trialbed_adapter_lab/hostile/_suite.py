"""Run attacks beside an innocent framework, and compare what they cost with what they may cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trialbed.files import temporary_folder
from trialbed.store import StoredTrial
from trialbed_adapter_lab.hostile._attacks import ATTACKS, Attack
from trialbed_adapter_lab.hostile._cheats import CheatResult
from trialbed_adapter_lab.hostile._reach import ReachResult
from trialbed_adapter_lab.hostile._runs import API, hostile_run

TIMEOUT = 10
"""Seconds that a trial may take."""


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
        (folder / "attacks.json").write_text(json.dumps({"name": "attacks", "queries": _queries(attacks)}))
        command = ["-f", framework, "-f", "hostile", "--dataset", "attacks.json", "--timeout", str(timeout)]
        command += ["--concurrency", "2", "--sandbox", sandbox, *options]
        with hostile_run(folder, command) as run:
            trials = run.trials()
    hostile = _failures(trial for trial in trials if trial.key.framework == "hostile")
    innocent = _failures(trial for trial in trials if trial.key.framework != "hostile")
    results = (_result(attack, innocent, hostile, refusable=sandbox != "none") for attack in attacks)
    return HostileReport(framework, sandbox, tuple(results))


def _queries(attacks: Sequence[Attack]) -> list[dict[str, Any]]:
    return [
        {"query_id": query_id, "text": text, "apis": [API], "gold_calls": [{"api": API, "arguments": {}}]}
        for attack in attacks
        for query_id, text in ((attack.name, attack.name), (_after(attack), "good"))
    ]


def _after(attack: Attack) -> str:
    return f"after {attack.name}"


def _failures(trials: Iterable[StoredTrial]) -> dict[int | str, str]:
    """Return the failure of each query, as its kind and message; empty where it was answered."""
    failures = {trial.key.query_id: trial.failure for trial in trials}
    return {query: f"{failure.kind}: {failure.message}" if failure else "" for query, failure in failures.items()}


def _result(
    attack: Attack, innocent: Mapping[int | str, str], hostile: Mapping[int | str, str], *, refusable: bool
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
