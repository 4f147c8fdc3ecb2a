"""The measurement of several releases, one after the other; each is kept as soon as it is measured."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from trialbed.environments import BuildSteps
from trialbed_adapter_lab.releases._choice import Choice
from trialbed_adapter_lab.releases._folder import ReleaseFolder
from trialbed_adapter_lab.releases._index import PublishedRelease
from trialbed_adapter_lab.releases._measure import ReleaseMeasurement, measure_release
from trialbed_adapter_lab.releases._records import MeasuredRelease


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Shows the work to the user.

    Attributes:
        line: called with a line that stays. ``step``: with a text that the next one replaces.
        building: shows the build of an environment.
    """

    line: Callable[[str], None]
    step: Callable[[str], None]
    building: Callable[[], AbstractContextManager[BuildSteps]]


def releases_to_measure(
    choice: Choice, folder: ReleaseFolder, kit: str, *, any_kit: bool = False, again: bool = False
) -> list[PublishedRelease]:
    """Return the chosen releases that are still to be measured.

    Args:
        any_kit: one that another kit measured is not measured again.
        again: all are.
    """
    known = None if any_kit else kit
    return [one for one in choice.chosen if again or folder.find(one.version, known) is None]


async def measure_releases(
    how: ReleaseMeasurement, releases: list[PublishedRelease], folder: ReleaseFolder, progress: Progress
) -> list[MeasuredRelease]:
    """Measure releases and keep each; return the records."""
    found = []
    for number, published in enumerate(releases, 1):
        name = f"{how.framework} {published.version} ({number} of {len(releases)})"
        progress.line(f"{name}: its environment, then {', '.join(how.parts)} and requests")
        with progress.building() as steps:
            measured, lock = await measure_release(how, published, steps, progress.step)
        folder.keep(measured, lock)
        progress.line(f"{name}: {measured.failure or _brief(measured)}")
        found.append(measured)
    return found


def _brief(measured: MeasuredRelease) -> str:
    missing = [f"{one.framework}: {gap.part}" for one in measured.figures for gap in one.missing]
    return f"measured{', without ' + ', '.join(missing) if missing else ''}"
