"""Ranking by words: BM25 over Apis and over their tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.records import Api
from trialbed_selection.retrieval._documents import ApiWords, tool_documents, tool_places
from trialbed_selection.retrieval._words import Words

if TYPE_CHECKING:
    import numpy as np
    from bm25s import BM25  # type: ignore[import-untyped]  # bm25s ships no type information

API_K1, API_B = 4.0, 0.75
"""BM25's parameters for Apis. k1 is in units of words that are counted up to four times."""

TOOL_K1, TOOL_B = 3.0, 0.75
"""BM25's parameters for tools, whose counts are logarithms."""

TOOL_SHARE = 0.6
"""The weight of its tool's score beside an Api's own: several Apis of one tool often solve a query together."""


class LexicalIndex:
    """An index of words over a catalog (Lucene's BM25; Robertson and Zaragoza 2009).

    Args:
        apis: the ranking over the Apis; None if no Api has a word.
        tools: the ranking over their tools.
        tool_of: the place of each Api's tool.
    """

    def __init__(self, apis: BM25 | None, tools: BM25 | None, tool_of: np.ndarray[Any, Any]) -> None:
        self._apis = apis
        self._tools = tools
        self._tool_of = tool_of
        self._words = Words()

    @classmethod
    def of(cls, apis: Sequence[Api]) -> LexicalIndex:
        """Index these Apis."""
        import numpy as np

        words = Words()
        tool_of = tool_places(apis)
        documents = [ApiWords.of(api, words).all() for api in apis]
        about = tool_documents(apis, tool_of, documents, words)
        of_apis, of_tools = _ranking(documents, API_K1, API_B), _ranking(about, TOOL_K1, TOOL_B)
        return cls(of_apis, of_tools, np.array(tool_of, dtype=np.int32))

    def scores(self, text: str) -> np.ndarray[Any, Any]:
        """Score each Api's relevance to a text; minus infinity if neither it nor its tool shares a word with it."""
        import numpy as np

        words = list(dict.fromkeys(self._words(text)))
        if self._apis is None or self._tools is None or not words:
            return np.full(len(self._tool_of), -np.inf, dtype=np.float32)
        own = self._apis.get_scores(words)
        scores: np.ndarray[Any, Any] = own + TOOL_SHARE * self._tools.get_scores(words)[self._tool_of]
        scores[scores <= 0] = -np.inf
        return scores

    def save(self, folder: Path) -> None:
        """Write the index into an existing folder."""
        import numpy as np

        np.save(folder / "tools.npy", self._tool_of)
        for name, ranking in (("words-apis", self._apis), ("words-tools", self._tools)):
            if ranking is not None:
                ranking.save(folder / name, show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """Read an index that was saved.

        Raises:
            OSError, ValueError: it is damaged.
        """
        import numpy as np

        return cls(_read(folder / "words-apis"), _read(folder / "words-tools"), np.load(folder / "tools.npy"))


def _ranking(documents: Sequence[Sequence[str]], k1: float, b: float) -> BM25 | None:
    if not any(documents):
        return None
    from bm25s import BM25

    vocabulary: dict[str, int] = {}
    places = [[vocabulary.setdefault(word, len(vocabulary)) for word in document] for document in documents]
    ranking = BM25(k1=k1, b=b)
    ranking.index((places, vocabulary), show_progress=False)
    return ranking


def _read(folder: Path) -> BM25 | None:
    if not folder.is_dir():
        return None
    from bm25s import BM25

    return BM25.load(folder)
