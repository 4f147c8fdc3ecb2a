"""The interface of embedders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np


class Embedder(Protocol):
    """Makes embeddings of texts."""

    @property
    def name(self) -> str:
        """Names the model: embeddings under one name can be compared."""

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """One unit vector per text, as rows of float32.

        Raises:
            ModelFailed: the model cannot be reached, or refuses.
        """
