"""What is told of environments while they are looked up and built."""

from __future__ import annotations

from typing import Protocol

from trialbed.environments._built import Built


class Progress(Protocol):
    """Is told of each step; ``label`` is the framework as asked for."""

    def resolving(self, label: str) -> None:
        """The versions of its packages are being chosen."""

    def waiting(self, label: str) -> None:
        """Another process is building it."""

    def offline(self, label: str) -> None:
        """There is no network; what uv keeps in its cache must do."""

    def building(self, label: str, summary: str) -> None:
        """Packages are being installed; the summary says which framework and how many."""

    def ready(self, label: str, built: Built, seconds: float | None) -> None:
        """It can be used; it was built in so many seconds, or was there (None)."""

    def failed(self, label: str) -> None:
        """It could not be built."""


class Silent:
    """Tells nobody."""

    def resolving(self, label: str) -> None:
        """Nothing."""

    def waiting(self, label: str) -> None:
        """Nothing."""

    def offline(self, label: str) -> None:
        """Nothing."""

    def building(self, label: str, summary: str) -> None:
        """Nothing."""

    def ready(self, label: str, built: Built, seconds: float | None) -> None:
        """Nothing."""

    def failed(self, label: str) -> None:
        """Nothing."""
