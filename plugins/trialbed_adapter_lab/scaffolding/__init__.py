"""Start a package for an adapter, which works before its author changes anything."""

from trialbed_adapter_lab.scaffolding._names import AdapterNames, adapter_names
from trialbed_adapter_lab.scaffolding._package import MARK, write_package
from trialbed_adapter_lab.scaffolding._plugins import PLUGIN_TEMPLATES, plugin_steps, write_plugin

__all__ = [
    "MARK",
    "PLUGIN_TEMPLATES",
    "AdapterNames",
    "adapter_names",
    "plugin_steps",
    "write_package",
    "write_plugin",
]
