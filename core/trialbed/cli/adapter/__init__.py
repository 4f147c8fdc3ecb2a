"""``bench adapter``: where adapters are (``_places``), and the conformance kit run there (``_conformance``)."""

from trialbed.cli.adapter._command import command

__all__ = ["command"]
