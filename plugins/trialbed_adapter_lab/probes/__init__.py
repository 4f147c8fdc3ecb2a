"""The table of probes, by theme."""

from collections.abc import Iterator

from trialbed_adapter_lab.probe import Probe, Theme
from trialbed_adapter_lab.probes import (
    calls,
    claims,
    conditions,
    faults,
    faulty_answers,
    hygiene,
    limits,
    schemas,
    traffic,
)

_MODULES = (calls, claims, conditions, faults, faulty_answers, hygiene, limits, schemas, traffic)

THEMES: tuple[Theme, ...] = (
    *(calls.CALLS, calls.CONVERSATION, claims.HISTORY, calls.ARGUMENTS, faults.FAULTS, faults.MISTAKES),
    *(schemas.SCHEMAS, limits.LIMITS, limits.PATIENCE, schemas.SIZES, conditions.CONDITIONS, claims.CLAIMS),
    *(hygiene.ISOLATION, hygiene.HYGIENE, conditions.INVARIANT, conditions.POLICIES),
    *(traffic.TRAFFIC, faulty_answers.FAULTY_MODELS),
)

_LAST = "only_the_rig_is_talked_to"


def _defined() -> Iterator[Probe]:
    """Yield the probes of all modules, single ones and tables, in the order of their definition."""
    for value in (value for module in _MODULES for value in vars(module).values()):
        yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Probe))


_PLACES = {theme.name: place for place, theme in enumerate(THEMES)}

PROBES: tuple[Probe, ...] = tuple(sorted(_defined(), key=lambda probe: (probe.name == _LAST, _PLACES[probe.theme])))
"""Every probe, in the order in which they are run: invariants after all whose trials they look at, then what policies
lead to, which much can change, and contacts last."""

CHECKS = tuple(probe for probe in PROBES if probe.level != "info")
"""Probes with an expectation."""

QUICK: tuple[Probe, ...] = tuple(check for check in CHECKS if check.quick)
"""Fast checks that find most defects, for ``--quick``."""


def probes_of(theme: Theme) -> tuple[Probe, ...]:
    """Return the probes of a theme, in the order of their definition."""
    return tuple(probe for probe in _defined() if probe.theme == theme.name)


__all__ = ["CHECKS", "PROBES", "QUICK", "THEMES", "probes_of"]
