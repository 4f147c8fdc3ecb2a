"""Agents that do what no agent should. The query names the attack; see ``trialbed_adapter_lab.hostile``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
