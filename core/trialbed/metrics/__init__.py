"""Metrics of conversations with tools, under the names that Ragas gives them.

These are the public names of ``trialbed_evaluation.metrics``; each is loaded when it is first used.
"""

from trialbed_evaluation.metrics import __all__ as __all__
from trialbed_evaluation.metrics import __dir__ as __dir__
from trialbed_evaluation.metrics import __getattr__ as __getattr__
