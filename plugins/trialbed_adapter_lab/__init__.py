"""The conformance kit checks whether an adapter keeps the contract.

It runs trials of the adapter against a scripted model and scripted Apis, and looks at both ends of the wire.
``check_adapter`` runs every check in this process, ``trialbed_adapter_lab.testing.AdapterConformance`` makes a pytest
test of each, and ``bench adapter check`` needs neither pytest nor code.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
