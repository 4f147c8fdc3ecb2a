"""Start a package for an adapter, which works before its author changes anything."""

from trialbed_adapter_lab.scaffolding._names import AdapterNames, adapter_names
from trialbed_adapter_lab.scaffolding._package import MARK, write_package

__all__ = ["MARK", "AdapterNames", "adapter_names", "write_package"]
