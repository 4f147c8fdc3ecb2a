"""Run the attack suite beside an adapter, and show the cost of each attack in each sandbox."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from trialbed.cli.options import print_json
from trialbed.contracts import Executor, Sandbox
from trialbed.drivers import load_driver
from trialbed.errors import SandboxUnavailable
from trialbed.records import shown_name
from trialbed.views import Table, print_tables
from trialbed_adapter_lab.hostile import AttackResult, CheatResult, HostileReport, run_attacks, run_cheats, run_probes

SANDBOXES = ("none", "process", "container")


def attack(name: str, sandboxes: Sequence[str], *, yes: bool, env_dir: Path | None, as_json: bool) -> int:
    """Run the attacks in each sandbox, show the reports, and return the exit code.

    Raises:
        SandboxUnavailable: a sandbox that was asked for does not work here.
        NothingMeasured: a run did not get to its end.
    """
    options = ["--yes"] * yes + (["--env-dir", str(env_dir)] if env_dir else [])
    reports = []
    for sandbox in sandboxes or _usable():
        click.echo(f"sandbox {sandbox}:", err=True)
        report = run_attacks(name, sandbox, options=options)
        cheats = run_cheats(name, sandbox, options=options)
        reports.append(replace(report, cheats=cheats, reach=run_probes(sandbox, options=options)))
    if as_json:
        print_json([report.as_json() for report in reports])
    else:
        print_tables([_attacks(reports), _cheats(reports), _reach(reports)], sys.stdout)
    return 0 if all(report.ok for report in reports) else 1


def _usable() -> list[str]:
    """Return the sandboxes that work here, and say why others do not."""
    executor: type[Executor] = load_driver("executors", "local")
    found = []
    for mode in SANDBOXES:
        try:
            if mode != "none":
                executor.check_sandbox(Sandbox(mode))
        except SandboxUnavailable as error:
            click.echo(f"without {mode}: {error}", err=True)
        else:
            found.append(mode)
    return found


def _attacks(reports: Sequence[HostileReport]) -> Table:
    tried = list(zip(*(report.results for report in reports), strict=True))
    rows = [(found[0].attack, *map(_attack_text, found)) for found in tried]
    costs = [
        f"{one.attack}, sandbox {report.sandbox}: not held; its own trial: {one.own or 'answered'}; the next: "
        f"{one.next or 'answered'}; beside it: {one.neighbour or 'answered'}"
        for report in reports
        for one in report.results
        if not one.held
    ]
    held = [one.held for found in tried for one in found]
    end = f"{sum(held)} of {len(held)} attacks cost their own trial at most, and {reports[0].framework} nothing"
    return Table.of("", ("attack", *(report.sandbox for report in reports)), rows, [*costs, end])


def _attack_text(result: AttackResult) -> str:
    return (result.own.partition(":")[0] or "nothing") if result.held else "NOT HELD"


def _cheats(reports: Sequence[HostileReport]) -> Table:
    tried = list(zip(*(report.cheats for report in reports), strict=True))
    rows = [(found[0].cheat, found[0].model, *map(_cheat_text, found)) for found in tried]
    held = [one.held for found in tried for one in found]
    end = f"{sum(held)} of {len(held)} cheats gained nothing, and are named where they leave a trace"
    return Table.of("", ("cheat", "model", *(report.sandbox for report in reports)), rows, [end])


def _reach(reports: Sequence[HostileReport]) -> Table:
    tried = zip(*(report.reach for report in reports), strict=True)
    rows = [
        (found[0].probe, *(("reached" if one.got else "kept out") if one.held else "NOT HELD" for one in found))
        for found in tried
    ]
    open_to_all = any(report.sandbox == "none" for report in reports)
    notes = ["Without a sandbox, an agent reaches what its user does."] if open_to_all else []
    return Table.of("", ("what an agent gets at", *(report.sandbox for report in reports)), rows, notes)


def _cheat_text(result: CheatResult) -> str:
    named = ", ".join(result.named) or "worth nothing"
    gained = ", ".join(f"{shown_name(name)} {value:.2f}" for name, (value, _) in result.gained.items())
    return named if result.held else f"NOT HELD: {'; '.join(filter(None, (gained, named, result.neighbour)))}"
