"""The options of a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trialbed.records import Environment
from trialbed_adapter_lab.report_command import PARTS, Part

REFERENCE = "reference"
TOOLS = 20
"""Tools on offer per trial, except in the part ``schemas``."""


@dataclass(frozen=True, kw_only=True)
class FidelityOptions:
    """The options of a measurement.

    Attributes:
        frameworks: labels; the reference is measured too, first, unless ``baseline`` is false.
        parts: which of ``PARTS``.
        environments: label -> its own environment, for those that do not run in this interpreter.
    """

    frameworks: tuple[str, ...] = ()
    parts: tuple[Part, ...] = PARTS
    environments: Mapping[str, Environment] = field(default_factory=dict)
    baseline: bool = True

    @property
    def labels(self) -> tuple[str, ...]:
        """The reference, unless it is not wanted, and all that was asked for, each once."""
        return tuple(dict.fromkeys((*[REFERENCE] * self.baseline, *self.frameworks)))
