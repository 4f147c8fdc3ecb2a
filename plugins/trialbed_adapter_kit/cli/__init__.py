"""``bench adapter``: where adapters are (``_places``), and the conformance kit run there (``_conformance``)."""

from trialbed_adapter_kit.cli._command import command

__all__ = ["command"]
