"""Settings of a run that change nothing in it, which its user should know before it begins."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trialbed.settings import RunSettings, declared_settings

READERS = {
    "rpm": "no model of this run is at an endpoint",
    "tpm": "no model of this run is at an endpoint",
    "on_miss": "it is for recorded models, and no model of this run is one",
    "chat_template": "it is for models on this machine that Trialbed starts, and no model of this run is one",
}
"""Setting that only some models read -> why it changes nothing with others."""

PACE = ("rpm", "tpm")
"""The settings that the gateway reads for any endpoint."""


def idle_settings(settings: RunSettings, read: Collection[str], *, at_endpoint: bool) -> Iterator[str]:
    """Yield a sentence for each setting that has another value than its default and that nothing in the run reads.

    Args:
        read: the settings that the drivers of the run's models read.
        at_endpoint: whether the run asks an endpoint for anything.
    """
    for declared in declared_settings():
        value = getattr(settings, declared.name)
        is_read = declared.name in read or (at_endpoint and declared.name in PACE)
        if declared.name in READERS and value != declared.default and not is_read:
            yield f"{declared.setting.option[-1]} {value} changes nothing: {READERS[declared.name]}"
