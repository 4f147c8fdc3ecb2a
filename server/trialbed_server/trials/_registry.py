"""The registry of open trials."""

from __future__ import annotations

import logging

from trialbed.errors import TrialbedError
from trialbed_server.trials._trial import OpenTrial

logger = logging.getLogger(__name__)

MAX_CLOSED = 100_000
"""Closed tokens remembered; requests to older ones are unknown, no longer gone."""


class TrialRefused(TrialbedError):
    """There is no trial that a request could belong to; ``status`` is that of the response."""

    status: int


class TrialUnknown(TrialRefused):
    """There was never a trial of this token."""

    status = 404


class TrialGone(TrialRefused):
    """The trial of this token is closed."""

    status = 410


class TrialRequired(TrialRefused):
    """The request has no trial, and this server answers for trials only."""

    status = 403


class TrialConflict(TrialbedError):
    """The token is in use, or another trial is the ambient one.

    Attributes:
        expires_in: seconds until the other trial expires, unless it is used or renewed; None if that changes nothing.
    """

    def __init__(self, message: str, expires_in: float | None = None) -> None:
        super().__init__(message)
        self.expires_in = expires_in


class TrialRegistry:
    """Open trials by token. Lives in memory: a trial's log is handed over when it is closed.

    A trial whose opener is gone expires: it is closed, and its log is dropped.

    Args:
        trials_only: refuse requests that belong to no trial.
        idle: seconds without a request after which a trial without a lease expires.
    """

    def __init__(self, *, trials_only: bool = False, idle: float = 600.0) -> None:
        self._trials_only = trials_only
        self._idle = idle
        self._open: dict[str, OpenTrial] = {}
        self._closed: dict[str, str] = {}
        self._ambient: OpenTrial | None = None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def ambient(self) -> OpenTrial | None:
        """The trial that requests without a token belong to."""
        return self._ambient

    def open(self, trial: OpenTrial) -> None:
        """Take in a trial.

        Raises:
            TrialConflict: its token is known, or it is ambient and another one is.
        """
        registration = trial.registration
        if registration.trial in self._open or registration.trial in self._closed:
            raise TrialConflict("a trial with this token exists; use a new token for every trial")
        if registration.ambient:
            self.expire()
            if self._ambient is not None:
                left = self._ambient.expires_in(self._idle)
                raise TrialConflict(
                    "another ambient trial is open, and requests without a token belong to one trial at a time; close "
                    f"it first, or wait: it expires in {left:.0f} s if its opener is gone",
                    expires_in=left,
                )
            self._ambient = trial
        self._open[registration.trial] = trial

    def close(self, token: str) -> OpenTrial:
        """Let go of a trial.

        Raises:
            TrialUnknown, TrialGone: as their docstrings say.
        """
        trial = self.find(token)
        self._forget(trial, "this trial is closed")
        return trial

    def find(self, token: str) -> OpenTrial:
        """The open trial of this token.

        Raises:
            TrialUnknown, TrialGone: as their docstrings say.
        """
        trial = self._open.get(token)
        if trial is not None and trial.expires_in(self._idle) > 0:
            return trial
        self.expire()
        if token in self._closed:
            raise TrialGone(self._closed[token])
        raise TrialUnknown("no trial has this token; open one with POST /control/trials")

    def of(self, token: str | None) -> OpenTrial | None:
        """The trial a request belongs to: that of its token, else the ambient one, else none.

        Raises:
            TrialUnknown, TrialGone, TrialRequired: as their docstrings say.
        """
        if token is not None:
            return self.find(token)
        if self._ambient is not None and self._ambient.expires_in(self._idle) <= 0:
            self.expire()
        if self._ambient is None and self._trials_only:
            raise TrialRequired(
                "this server belongs to a run and answers only for its trials: use the base_url and the server_url "
                "that the agent was given, which contain the trial's token"
            )
        return self._ambient

    def expire(self) -> None:
        """Close the trials whose openers are gone."""
        for trial in [trial for trial in self._open.values() if trial.expires_in(self._idle) <= 0]:
            logger.warning("trial %s has expired: its opener is gone", trial.registration.trial)
            if trial.hosted is not None:
                trial.hosted.drop()
            self._forget(trial, "this trial has expired: its opener did not renew it, or nothing was asked for long")

    def _forget(self, trial: OpenTrial, reason: str) -> None:
        token = trial.registration.trial
        del self._open[token]
        self._closed[token] = reason
        if len(self._closed) > MAX_CLOSED:
            del self._closed[next(iter(self._closed))]
        if trial is self._ambient:
            self._ambient = None
