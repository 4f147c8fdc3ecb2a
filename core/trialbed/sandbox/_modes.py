"""The names of the sandboxes."""

from trialbed.run_settings import SANDBOXES

NONE, PROCESS, CONTAINER = SANDBOXES
