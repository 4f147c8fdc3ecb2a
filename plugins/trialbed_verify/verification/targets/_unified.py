"""Unified names of models: those that the installed vendor drivers translate into the vendors' own."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from trialbed.drivers import list_drivers
from trialbed.errors import DriverError
from trialbed_verify.verification.targets._factories import load_vendor
from trialbed_verify.verification.targets._targets import Target

CLOSE = 0.75
"""Similarity from which a name is likely to be a slip for another."""


def unified_models() -> dict[str, dict[str, str]]:
    """Unified name -> vendor -> the vendor's own name, of every vendor driver that can be loaded."""
    found: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(info.name for info in list_drivers("vendors")):
        try:
            models = load_vendor(name).models
        except DriverError:
            # `bench plugins` says why; a vendor that is used is loaded again, and its failure is an error there.
            continue
        for model, own in models.items():
            found.setdefault(model, {})[name] = own
    return {model: dict(sorted(vendors.items())) for model, vendors in sorted(found.items())}


def doubtful_models(targets: Sequence[Target]) -> Iterator[str]:
    """Return the doubts about the targets' names of models, one sentence each."""
    named = [target for target in targets if target.driver_name and target.settings.model_id is None]
    known = unified_models() if named else {}
    for target in named:
        model = target.settings.model
        if not target.vendor.models or model in target.vendor.models:
            continue
        hint = _hint(model, known)
        if hint or any(own != name for name, own in target.vendor.models.items()):
            # A driver that renames nothing is a maker's, whose names may be newer than the driver.
            yield (
                f"{target.name}: its driver has no name for {model!r}, which is sent as it is; {hint}"
                "give the vendor's own name as `model_id`"
            )


def _hint(model: str, known: dict[str, dict[str, str]]) -> str:
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(model.lower(), folded, n=1, cutoff=CLOSE)
    if not close or folded[close[0]] == model:
        return ""
    return f"did you mean {folded[close[0]]!r} (--list-models)? Otherwise "
