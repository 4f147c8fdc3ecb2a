"""The names of the sandboxes."""

from trialbed.run_settings import SANDBOXES

_, PROCESS, CONTAINER = SANDBOXES
