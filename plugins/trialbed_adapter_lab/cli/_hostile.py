"""Run the attack suite beside an adapter, and show the cost of each attack in each sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from trialbed.cli.options import print_json
from trialbed.contracts import Executor, Sandbox
from trialbed.drivers import load_driver
from trialbed.errors import SandboxUnavailable
from trialbed.records import shown_name
from trialbed_adapter_lab.hostile import CheatResult, HostileReport, run_attacks, run_cheats, run_probes

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
        _show(reports)
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


def _show(reports: Sequence[HostileReport]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("attack", *(report.sandbox for report in reports), box=None, pad_edge=False)
    for results in zip(*(report.results for report in reports), strict=True):
        cells = [(result.own.partition(":")[0] or "nothing") if result.held else "NOT HELD" for result in results]
        table.add_row(results[0].attack, *cells)
    Console(highlight=False, markup=False).print(table)
    for report in reports:
        for result in report.results:
            if not result.held:
                click.echo(f"\n{result.attack}, sandbox {report.sandbox}: not held")
                for trial in ("own", "next", "neighbour"):
                    click.echo(f"    {trial + ':':11}{getattr(result, trial) or 'answered'}")
    held, tried = (
        sum(found) for found in zip(*((one.held, 1) for all_ in reports for one in all_.results), strict=True)
    )
    click.echo(f"\n{held} of {tried} attacks cost their own trial at most, and {reports[0].framework} nothing\n")
    _show_cheats(reports)


def _show_cheats(reports: Sequence[HostileReport]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("cheat", "model", *(report.sandbox for report in reports), box=None, pad_edge=False)
    for results in zip(*(report.cheats for report in reports), strict=True):
        table.add_row(results[0].cheat, results[0].model, *map(_cheat_text, results))
    Console(highlight=False, markup=False).print(table)
    every = [result for report in reports for result in report.cheats]
    held = sum(result.held for result in every)
    click.echo(f"\n{held} of {len(every)} cheats gained nothing, and are named where they leave a trace\n")
    _show_reach(reports)


def _show_reach(reports: Sequence[HostileReport]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("what an agent gets at", *(report.sandbox for report in reports), box=None, pad_edge=False)
    for results in zip(*(report.reach for report in reports), strict=True):
        cells = [("reached" if result.got else "kept out") if result.held else "NOT HELD" for result in results]
        table.add_row(results[0].probe, *cells)
    Console(highlight=False, markup=False).print(table)
    if any(report.sandbox == "none" for report in reports):
        click.echo("\nWithout a sandbox, an agent reaches what its user does.")


def _cheat_text(result: CheatResult) -> str:
    named = ", ".join(result.named) or "worth nothing"
    gained = ", ".join(f"{shown_name(name)} {value:.2f}" for name, (value, _) in result.gained.items())
    return named if result.held else f"NOT HELD: {'; '.join(filter(None, (gained, named, result.neighbour)))}"
