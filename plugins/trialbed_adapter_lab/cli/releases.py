"""``bench releases``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.env import env_dir_option, yes_option
from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import FOLDER, json_option, option, plain_option
from trialbed.cli.setting_options import setting_option
from trialbed_adapter_lab.report_command import (
    FORMATS,
    choose_themes,
    output_option,
    print_report,
    theme_option,
    write_report,
)

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from trialbed_adapter_lab.releases import KnownReleases, MeasuredRelease, ReleaseFolder, ReleaseMeasurement

EPILOG = """\b
Examples:
  bench releases langgraph --most 8 --yes
  bench releases langgraph --from 1.1.0 --to 1.1.9 --yes
  bench releases crewai --most 4 --part faults --yes -o crewai.json
  bench releases langgraph --most 1 --fail-if-changed --yes
  bench releases langgraph --kept --format markdown
"""


def _version(text: str) -> str:
    from packaging.version import Version

    return str(Version(text))


VERSION = click.types.FuncParamType(_version)
VERSION.name = "version"


@click.command("releases", epilog=EPILOG)
@click.argument("framework")
@plain_option("--from", "first", type=VERSION, help="Oldest release. [default: the oldest that the adapter allows]")
@plain_option("--to", "last", type=VERSION, help="Newest release. [default: the newest that the adapter allows]")
@plain_option(
    "--most",
    type=click.IntRange(min=1),
    help="Measure at most this many, spread evenly from the oldest to the newest; 1 is the newest. [default: all]",
)
@plain_option("--kept", is_flag=True, help="Measure nothing; show the releases of the folder.")
@setting_option("profiles")
@theme_option("Measure only this part of the probes; repeatable. [default: all parts]")
@option(
    "--adapter",
    envvar=None,
    default="",
    metavar="REQUIREMENT",
    help="The adapter's package, if it is not trialbed-NAME.",
)
@option(
    "--folder", type=FOLDER, default=Path("releases"), envvar=None, help="Where releases are kept, with their locks."
)
@plain_option(
    "--fail-if-changed", is_flag=True, help="Exit with 1 if a release that was measured now changes something."
)
@format_option(*FORMATS)
@output_option("Write the report to this file, as JSON.")
@yes_option
@env_dir_option
@json_option
def command(framework: str, form: str | None, as_json: bool, **given: Any) -> int:
    """Show how a framework changes over its releases.

    The package index lists the releases in the range that the adapter allows. Each release runs every probe of the
    conformance kit in its own environment, and is stored with the lock of that environment; it is not measured again
    unless the kit changes. The command prints the changes from each release to the next, without times. Exits with 1 if
    a release could not be measured.
    """
    import asyncio

    from trialbed.environments import FrameworkSpec, check_name
    from trialbed.errors import NothingMeasured, UsageError
    from trialbed_adapter_lab.releases import (
        KnownReleases,
        MeasuredRelease,
        ReleaseFolder,
        report_on,
        report_tables,
        version_range,
    )

    form, spec = chosen_format(form, as_json=as_json), FrameworkSpec.parse(framework)
    if framework != spec.name:
        raise UsageError(f"{framework}: write {spec.name}; --from and --to choose releases, and --profile profiles")
    check_name(spec)
    folder, wanted = ReleaseFolder(given["folder"], framework), version_range(given["first"], given["last"])
    known, new = KnownReleases(), list[MeasuredRelease]()
    if not given["kept"]:
        try:
            known, new = asyncio.run(_measure(folder, wanted, given))
        except (asyncio.CancelledError, KeyboardInterrupt):
            # The releases measured until then are kept.
            raise click.Abort from None
    elif not any(folder):
        raise NothingMeasured(f"{folder.folder}: nothing was measured yet; run bench releases {framework} --most 4")
    report = report_on(folder, known, wanted)
    if given["output"] is not None:
        write_report(given["output"], report)
    print_report(report, form, report_tables)
    if not report.measured:
        why = "could be measured; see the reasons above" if report.releases else "in this range was measured yet"
        raise NothingMeasured(f"no release of {framework} {why}")
    changed = {change.release for change in report.changes} if given["fail_if_changed"] else ()
    return 1 if any(one.failure or one.release in changed for one in new) else 0


async def _measure(
    folder: ReleaseFolder, wanted: SpecifierSet, given: dict[str, Any]
) -> tuple[KnownReleases, list[MeasuredRelease]]:
    """Measure the chosen releases that are still open; return all that the index has, and the measured ones."""
    from trialbed.cli.env import environment_store
    from trialbed.cli.progress import cancel_on_terminate
    from trialbed.environments import BuildRequest, FrameworkSpec
    from trialbed.settings import make_folder
    from trialbed.texts import number_of
    from trialbed_adapter_lab.releases import ReleaseMeasurement, choose, known_releases, measure_releases

    how = ReleaseMeasurement(
        framework=folder.framework,
        profiles=tuple(dict.fromkeys(given["profiles"])) or ("native", "controlled"),
        themes=choose_themes(given["parts"]),
        store=environment_store(given["env_dir"]),
        adapter=given["adapter"],
    )
    make_folder(how.store.folder, "--env-dir", shared=True)
    with cancel_on_terminate():
        known = await known_releases(BuildRequest(FrameworkSpec.parse(how.framework), how.adapter), how.store)
        chosen = choose(known, wanted, given["most"] or 0)
        releases = {one: known.published[one] for one in chosen if folder.find(one, how.kit) is None}
        counts = f"{number_of(len(chosen), 'release')} chosen, {len(chosen) - len(releases)} measured before"
        click.echo(f"{how.framework}: {counts}", err=True)
        if releases and not given["yes"]:
            _ask_consent(how, [*releases])
        return known, await measure_releases(how, releases, folder)


def _ask_consent(how: ReleaseMeasurement, releases: Sequence[str]) -> None:
    from trialbed.errors import EnvironmentFailed, UsageError

    names = f"{how.framework} {', '.join(releases)}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{names}: each needs an environment, and there is no terminal to ask whether to build them: give --yes"
        )
    question = f"Build an environment each for {names} with uv in {how.store.folder}"
    if not click.confirm(f"{question}, one after the other, and measure it (minutes each)?", err=True):
        raise EnvironmentFailed(f"{names}: not measured")
