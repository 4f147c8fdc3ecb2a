"""Selects the tools that an agent is offered, and names them."""

from trialbed_selection.catalog import Catalog
from trialbed_selection.names import safe_name, tool_names
from trialbed_selection.stage import Stage, open_selection

__all__ = ["Catalog", "Stage", "open_selection", "safe_name", "tool_names"]
