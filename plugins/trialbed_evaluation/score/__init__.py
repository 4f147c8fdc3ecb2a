"""``bench score``: ``_command`` dispatches, ``_files`` scores files of conversations, ``_rescoring`` stored runs."""

from trialbed_evaluation.score._command import command
from trialbed_evaluation.score._rescoring import rejudge

__all__ = ["command", "rejudge"]
