"""Starting a package for an adapter: one that works before its author has written a line."""

from trialbed_adapter_kit.scaffolding._names import AdapterNames, adapter_names
from trialbed_adapter_kit.scaffolding._package import MARK, write_package

__all__ = ["MARK", "AdapterNames", "adapter_names", "write_package"]
