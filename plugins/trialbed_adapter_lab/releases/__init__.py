"""Releases: one framework's behaviour over its releases, and the changes between neighbours.

Each release is measured by the parts of ``trialbed_adapter_lab.fidelity``, in an environment of its own. The names are
loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
