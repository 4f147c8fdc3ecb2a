"""Embeddings of texts by a small model on this machine."""

from trialbed_selection.embedders._minilm import MiniLm

__all__ = ["MiniLm"]
