"""The table of probes, by theme."""

from trialbed_adapter_lab.probe import Probe, probes_of
from trialbed_adapter_lab.probes import (
    arguments,
    calls,
    claims,
    conditions,
    conversation,
    faults,
    faulty_answers,
    history,
    hygiene,
    invariants,
    isolation,
    limits,
    mistakes,
    patience,
    policies,
    schemas,
    sizes,
    traffic,
)

THEMES = (
    *(calls, conversation, history, arguments, faults, mistakes, schemas, limits, patience, sizes),
    *(conditions, claims, isolation, hygiene, invariants, policies, traffic, faulty_answers),
)

_LAST = "only_the_rig_is_talked_to"

PROBES: tuple[Probe, ...] = tuple(
    sorted((probe for theme in THEMES for probe in probes_of(theme)), key=lambda probe: probe.name == _LAST)
)
"""Every probe, in the order in which they are run: invariants after all whose trials they look at, then what policies
lead to, which much can change, and contacts last."""

CHECKS = tuple(probe for probe in PROBES if probe.level != "info")
"""Probes with an expectation."""

QUICK: tuple[Probe, ...] = tuple(check for check in CHECKS if check.quick)
"""Fast checks that find most defects, for ``--quick``."""

__all__ = ["CHECKS", "PROBES", "QUICK", "THEMES"]
