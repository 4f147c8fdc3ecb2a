"""The kit for plugins other than adapters: checks whether they keep their contracts.

``check_plugin`` runs the checks of a plugin's kind in this process. Foreign code is called in threads and event loops
of its own, within a time.
"""

from trialbed_adapter_lab.plugin_kit._check import PluginSubject
from trialbed_adapter_lab.plugin_kit._finding import find_plugin
from trialbed_adapter_lab.plugin_kit._kit import KINDS, PLUGIN_CHECKS, check_plugin, misfit_report

__all__ = ["KINDS", "PLUGIN_CHECKS", "PluginSubject", "check_plugin", "find_plugin", "misfit_report"]
