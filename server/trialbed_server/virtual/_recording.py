"""Recording requests to the virtual API for their trial."""

from __future__ import annotations

import json
from typing import Any

from trialbed.records import ApiCall
from trialbed_server.trials import Trial
from trialbed_server.virtual.catalog import Target


class ApiRecording:
    """One request: in flight until ``end``."""

    def __init__(self, trial: Trial, target: Target, arguments: Any) -> None:
        self._trial = trial
        self._target = target
        self._arguments = arguments
        self._started = trial.elapsed()
        self._ended: ApiCall | None = None
        trial.api_calls.append(self)

    def end(self, body: bytes, provenance: str) -> None:
        """The answer is known."""
        answer = json.loads(body)
        self._ended = self._call(
            status=200,
            error=self._trial.budget.keep(answer["error"]),
            response=self._trial.budget.keep_value(answer["response"]),
            provenance=provenance,
        )

    def record(self) -> ApiCall:
        """What is known now; status 0 while unanswered."""
        return self._ended or self._call(status=0)

    def _call(self, **fields: Any) -> ApiCall:
        return ApiCall(
            started=self._started,
            duration=self._trial.elapsed() - self._started,
            api=self._target.ref,
            offered=self._target.api is not None,
            arguments=self._trial.budget.keep_value(self._arguments),
            **fields,
        )
