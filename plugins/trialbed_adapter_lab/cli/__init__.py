"""``bench adapter``: starts adapters, and runs the conformance kit on them."""

from trialbed_adapter_lab.cli._command import command
from trialbed_adapter_lab.cli._plugin import command as plugin_command

__all__ = ["command", "plugin_command"]
