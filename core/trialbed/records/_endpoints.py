"""An endpoint that was verified: the request to it, and its outcome."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from trialbed.records._base import Json, Record


class EndpointInfo(Record):
    """A model at a vendor, as a verification found it.

    Attributes:
        label: its name in the run.
        model, vendor: as results and tables show them.
        is_baseline: whether the model's other vendors are compared with this one.
        trials: how often every case is sent to it.
        configuration: SHA-256 of all that its answers depend on.
        provenance: the test set, the configuration, the drivers and the options, without secrets.
        prices: ``input`` and ``output``, per million tokens.
        began, ended: when the last session did.
        not_sent: the cases that the last session left.
        failure: the driver's error, if that is what ended the last session.
        results: the file that its results were last written to, absolute.
        exports: SHA-256 of every results file that was written.
        last_row_at: when its last case ended, ISO 8601.
        success_rate, schema_accuracy: shares of its cases, and of its responses with calls; None if not known.
    """

    label: str
    model: str
    vendor: str
    is_baseline: bool = False
    trials: int = 1
    configuration: str
    provenance: dict[str, Json] = Field(default={})
    prices: dict[str, float] = Field(default={})
    began: datetime | None = None
    ended: datetime | None = None
    not_sent: int = 0
    failure: str | None = None
    results: str = ""
    exports: tuple[str, ...] = ()
    last_row_at: str | None = None
    success_rate: float | None = None
    schema_accuracy: float | None = None
