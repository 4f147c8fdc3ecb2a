"""Start a package for an adapter or another plugin, which works before its author changes anything."""

from trialbed_adapter_lab.scaffolding._packages import (
    MARK,
    PLUGIN_TEMPLATES,
    PackageNames,
    free_names,
    write_package,
    write_plugin,
)

__all__ = ["MARK", "PLUGIN_TEMPLATES", "PackageNames", "free_names", "write_package", "write_plugin"]
