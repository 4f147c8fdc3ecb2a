"""``bench adapter`` starts adapters and runs the conformance kit on them; ``bench plugin`` is for other plugins."""

from trialbed_adapter_lab.cli._command import command, plugin_command

__all__ = ["command", "plugin_command"]
