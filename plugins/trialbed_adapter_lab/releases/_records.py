"""The records of a release that was measured."""

from __future__ import annotations

from datetime import datetime

from trialbed.records import Json, Record
from trialbed_adapter_lab.fidelity import Figure, FrameworkFidelity
from trialbed_adapter_lab.releases._index import PublishedRelease


class KnownReleases(Record):
    """The releases that an index has.

    Attributes:
        package: that it was asked for. ``allowed``: the versions of it that the adapter allows.
        published: all of them, the oldest first.
    """

    package: str
    allowed: str
    published: tuple[PublishedRelease, ...]


class WatchState(Record):
    """The place that a watch has reached.

    Attributes:
        release: the newest that a finished watch has shown. Those after it, measured or not, are still to be shown.
    """

    release: str


class SentRequests(Record):
    """The requests of one trial as they went over the wire, and the processor time that it took.

    Attributes:
        framework: the label, with its profile and release.
        bodies: of the requests, in order; the ids of calls are numbered, since they differ from trial to trial.
        cpu_ms: processor milliseconds of the worker, over trials after its first one. None where it did not say.
        reason: why there is none; empty if there is.
    """

    framework: str
    bodies: tuple[Json, ...] = ()
    cpu_ms: Figure | None = None
    reason: str = ""


class MeasuredRelease(Record):
    """A release as it was measured, or the reason why it could not be.

    Attributes:
        framework: its name. ``release``: its version. ``published``: when the index got its first file, if it says so.
        kit: the digest of the kit that measured it.
        trialbed: the version of Trialbed. ``python`` and ``system``: that it ran on.
        packages: ``name==version`` of everything in its environment, sorted. ``size``: bytes of them.
        lock_digest: of the lock that is kept beside this record.
        figures: those of ``bench fidelity``, for each profile.
        requests: of one trial, for each profile.
        failure: why nothing was measured; empty if it was.
    """

    framework: str
    release: str
    published: datetime | None = None
    kit: str
    measured_at: datetime
    trialbed: str
    python: str
    system: str
    packages: tuple[str, ...] = ()
    size: int = 0
    lock_digest: str = ""
    figures: tuple[FrameworkFidelity, ...] = ()
    requests: tuple[SentRequests, ...] = ()
    failure: str = ""

    @property
    def adapter(self) -> str:
        """Its adapter's distribution and version; empty where it was not loaded."""
        return next((found.adapter for found in self.figures if found.adapter), "")
