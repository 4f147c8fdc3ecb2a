"""The names of the sandboxes."""

from trialbed.settings import SANDBOXES

_, PROCESS, CONTAINER = SANDBOXES
