"""Run trials of an adapter and observe them, against scripted models and Apis.

``Harness`` runs an agent in this process, and sees every request and connection: the conformance checks build on it.
``WorkerHarness`` runs a framework's workers against Trialbed's own server, as a run does, and reads its wire log: the
measurements of fidelity build on it.

The names are loaded when they are first used: a check needs no engine, and a measurement no server of the harness.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
