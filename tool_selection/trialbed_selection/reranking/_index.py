"""The index of a reranker: the weights of words in Apis, in tools and in names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.records import Api
from trialbed_selection.reranking._query import grams
from trialbed_selection.reranking._terms import (
    TermWeights,
    Vocabulary,
    bm25_weights,
    inverse_frequencies,
    term_places,
    weight_shares,
)
from trialbed_selection.retrieval import API_B, API_K1, TOOL_B, TOOL_K1, ApiWords, Words, tool_documents, tool_places

if TYPE_CHECKING:
    import numpy as np

GRAM_K1, GRAM_B = 1.2, 0.5
"""BM25's parameters for parts of names, which are short."""

WEIGHTS = ("apis", "own", "tools", "names", "tool_names", "grams")
VOCABULARIES = "vocabularies.json"
PLACES = "places.npz"


@dataclass(frozen=True)
class RerankIndex:
    """The weights of a catalog's words.

    Attributes:
        vocabulary: the words.
        gram_vocabulary: the parts of names.
        apis: BM25 weights in Apis, with the names of their tools and categories.
        own: those in Apis without them.
        tools: those in tools.
        names: the share of a word in an Api's name, by inverse document frequency.
        tool_names: its share in the name of the Api's tool.
        grams: BM25 weights of parts in the names of an Api and its tool.
        tool_of: the place of each Api's tool.
        category_of: the place of each tool's category.
    """

    vocabulary: Vocabulary
    gram_vocabulary: Vocabulary
    apis: TermWeights
    own: TermWeights
    tools: TermWeights
    names: TermWeights
    tool_names: TermWeights
    grams: TermWeights
    tool_of: np.ndarray[Any, Any]
    category_of: np.ndarray[Any, Any]

    @classmethod
    def of(cls, apis: Sequence[Api]) -> RerankIndex:
        """Index these Apis."""
        import numpy as np

        words = Words()
        read = [ApiWords.of(api, words) for api in apis]
        tool_of = tool_places(apis)
        categories: Vocabulary = {}
        of_tool = {place: api.category for place, api in zip(tool_of, apis, strict=True)}
        category_of = [categories.setdefault(category, len(categories)) for category in of_tool.values()]
        vocabulary: Vocabulary = {}
        gram_vocabulary: Vocabulary = {}
        weighted = [one.all() for one in read]
        documents = term_places(weighted, vocabulary)
        of_tools = term_places(tool_documents(apis, tool_of, weighted, words), vocabulary)
        of_names = term_places((grams([*one.tool, *one.name]) for one in read), gram_vocabulary)
        own, names, tool_names = (
            term_places(part, vocabulary)
            for part in ([one.own() for one in read], [one.name for one in read], [one.tool for one in read])
        )
        terms = len(vocabulary)
        rarity = inverse_frequencies(documents, terms)
        return cls(
            vocabulary=vocabulary,
            gram_vocabulary=gram_vocabulary,
            apis=TermWeights(bm25_weights(documents, terms, k1=API_K1, b=API_B)),
            own=TermWeights(bm25_weights(own, terms, k1=API_K1, b=API_B)),
            tools=TermWeights(bm25_weights(of_tools, terms, k1=TOOL_K1, b=TOOL_B)),
            names=TermWeights(weight_shares(names, rarity)),
            tool_names=TermWeights(weight_shares(tool_names, rarity)),
            grams=TermWeights(bm25_weights(of_names, len(gram_vocabulary), k1=GRAM_K1, b=GRAM_B)),
            tool_of=np.array(tool_of, dtype=np.int32),
            category_of=np.array(category_of, dtype=np.int32),
        )

    def save(self, folder: Path) -> None:
        """Write the index into an existing folder."""
        import numpy as np
        from scipy.sparse import save_npz

        (folder / VOCABULARIES).write_text(json.dumps([self.vocabulary, self.gram_vocabulary]), encoding="utf-8")
        np.savez(folder / PLACES, tool_of=self.tool_of, category_of=self.category_of)
        for name in WEIGHTS:
            save_npz(folder / f"{name}.npz", getattr(self, name).by_term, compressed=False)

    @classmethod
    def load(cls, folder: Path) -> RerankIndex:
        """Read an index that was saved.

        Raises:
            OSError, ValueError: it is damaged.
        """
        import numpy as np
        from scipy.sparse import load_npz

        vocabulary, gram_vocabulary = json.loads((folder / VOCABULARIES).read_text(encoding="utf-8"))
        with np.load(folder / PLACES) as places:
            tool_of, category_of = places["tool_of"], places["category_of"]
        weights = {name: TermWeights(load_npz(folder / f"{name}.npz").tocsr()) for name in WEIGHTS}
        return cls(vocabulary, gram_vocabulary, tool_of=tool_of, category_of=category_of, **weights)
