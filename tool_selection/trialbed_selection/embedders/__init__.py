"""Embeddings of texts: by a small model on this machine, or by an endpoint."""

from trialbed_selection.embedders._embedder import Embedder
from trialbed_selection.embedders._endpoint import EndpointEmbedder
from trialbed_selection.embedders._minilm import MiniLm

__all__ = ["Embedder", "EndpointEmbedder", "MiniLm"]
