"""Read conversations and tool calls, recorded by any program, into one form.

These are the public names of ``trialbed_evaluation.conversations``; each is loaded when it is first used.
"""

from trialbed_evaluation.conversations import __all__ as __all__
from trialbed_evaluation.conversations import __dir__ as __dir__
from trialbed_evaluation.conversations import __getattr__ as __getattr__
