"""The name of MASBench's base class of agents.

Its package has no ``__init__``: openai-agents is a package ``agents`` too, and both can be installed together.
"""

from trialbed_masbench import BaseAgent

__all__ = ["BaseAgent"]
