"""Find a catalog's Apis for a text by its words, by its meaning, or by both."""

from __future__ import annotations

import logging
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trialbed.catalogs import ApiCatalog
from trialbed.files import write_folder
from trialbed.records import Api, ApiRef
from trialbed.texts import normalize

if TYPE_CHECKING:
    import numpy as np
    from bm25s import BM25  # type: ignore[import-untyped]  # bm25s ships no type information

    from trialbed_selection.embedders import MiniLm

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
"""A word, also within ``camelCase`` and ``snake_case``."""

SENTENCE_END = re.compile(r"(?<=[.?!])\s+")

MAX_SENTENCES = 16
"""Sentences of a query that are ranked by on their own."""

UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]{3,}"
)
"""Letters of languages that write no spaces, or few, between words: longer than most words are."""

MODALS = frozenset(("also", "could", "let", "must", "please", "shall", "would"))
"""English words that mean the same in every request, and that the list of stop words lacks."""


class Words:
    """Read texts. An instance is not for several threads, because its stemmer is not."""

    def __init__(self) -> None:
        from bm25s.stopwords import STOPWORDS_EN_PLUS  # type: ignore[import-untyped]  # no type information
        from Stemmer import Stemmer

        self._stem = Stemmer("english").stemWord
        self._known: dict[str, str] = dict.fromkeys(MODALS.union(STOPWORDS_EN_PLUS), "")

    def __call__(self, text: str) -> list[str]:
        """Return the stems of a text's words, in order; stop words are left out."""
        stems = (self._read(word) for word in _words(text))
        return [stem for stem in stems if stem]

    def _read(self, word: str) -> str:
        lower = word.casefold()
        stem = self._known.get(lower)
        if stem is None:
            stem = self._known[lower] = self._stem(lower)
        return stem


def _words(text: str) -> Iterator[str]:
    if text.isascii():
        yield from WORD.findall(text)
        return
    for word in WORD.findall(_plain(text)):
        if UNSPACED.fullmatch(word):
            # Pairs of letters stand for words there, as in search engines.
            yield from (word[place : place + 2] for place in range(len(word) - 1))
        else:
            yield word


def _plain(text: str) -> str:
    """Return the text without accents, which are often left out, and with one form of each letter."""
    parts = normalize("NFKD", text)
    return normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))


NAME, DESCRIPTION, DETAIL = 4, 2, 1
"""The weight of a word in a name, in a description or a category, and in parameters and a response's keys."""

MAX_KEYS = 200
"""Keys of a response that are read."""

MAX_SENTENCE = 400
"""Characters of a description to embed; a model reads no more."""


def api_words(api: Api, words: Words) -> list[str]:
    """Return the words of an Api, each repeated by the weight of its place."""
    parameters = (*api.required_parameters, *api.optional_parameters)
    places = (
        (api.tool_name, NAME),
        (api.api_name, NAME),
        (api.category, DESCRIPTION),
        (api.description, DESCRIPTION),
        ("\n".join(f"{parameter.name}\n{parameter.description}" for parameter in parameters), DETAIL),
        ("\n".join(islice(_keys(api.template_response), MAX_KEYS)), DETAIL),
    )
    return [word for text, weight in places for word in weight * words(text)]


def tool_places(apis: Sequence[Api]) -> list[int]:
    """Return the place of each Api's tool in the order of tools."""
    tools: dict[tuple[str, str], int] = {}
    return [tools.setdefault((api.category, api.tool_name), len(tools)) for api in apis]


def tool_documents(
    apis: Sequence[Api], tool_of: Sequence[int], of_apis: Sequence[Sequence[str]], words: Words
) -> list[list[str]]:
    """Return the damped words of each tool, from its Apis and its first description, as many Apis repeat themselves.

    A word that occurs n times counts ⌈log₂(n + 1)⌉ times.
    """
    counts = [Counter[str]() for _ in set(tool_of)]
    descriptions: dict[int, str] = {}
    for api, place, document in zip(apis, tool_of, of_apis, strict=True):
        counts[place].update(document)
        if api.tool_description:
            descriptions.setdefault(place, api.tool_description)
    for place, text in descriptions.items():
        counts[place].update(DESCRIPTION * words(text))
    return [[word for word, count in own.items() for _ in range(count.bit_length())] for own in counts]


def sentence(api: Api) -> str:
    """Return an Api in one text, for a model of meanings."""
    return f"{api.tool_name}: {api.api_name}. {api.description[:MAX_SENTENCE]}".strip()


def _keys(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield from (str(key) for key in item if key != "_list_length")
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


API_K1, API_B = 4.0, 0.75
"""BM25's parameters for Apis. k1 is in units of words that are counted up to four times."""

TOOL_K1, TOOL_B = 3.0, 0.75
"""BM25's parameters for tools, because their counts are logarithms."""

TOOL_SHARE = 0.6
"""The weight of a tool's score relative to an Api's own; several Apis of one tool often solve a query together."""


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
        documents = [api_words(api, words) for api in apis]
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


BEST_SENTENCE = 0.5
"""The weight of the query's most similar sentence relative to the whole; queries ask for several things."""

MEANT_TOOL_SHARE = 0.5
"""The weight of the likeness to an Api's tool relative to the likeness to itself."""

KEPT_QUERIES = 256
"""The number of kept query embeddings, for other numbers of tools."""


class SemanticIndex:
    """Embeddings of a catalog's Apis.

    Args:
        vectors: one unit vector per Api.
        tool_of: the place of each Api's tool.
        embedder: made the vectors, and embeds queries.
    """

    def __init__(self, vectors: np.ndarray[Any, Any], tool_of: np.ndarray[Any, Any], embedder: MiniLm) -> None:
        self._vectors = vectors
        self._tool_of = tool_of
        self._tools = _means(vectors, tool_of)
        self._embedder = embedder
        self._query_vectors = lru_cache(KEPT_QUERIES)(self._embed_query)

    @classmethod
    def of(cls, apis: Sequence[Api], embedder: MiniLm) -> SemanticIndex:
        """Embed these Apis."""
        import numpy as np

        vectors = embedder.embed([sentence(api) for api in apis]) if apis else np.zeros((0, 1), dtype=np.float32)
        return cls(vectors, np.array(tool_places(apis), dtype=np.int32), embedder)

    def scores(self, text: str) -> np.ndarray[Any, Any]:
        """Score each Api's likeness to a text."""
        import numpy as np

        if not len(self._vectors):
            return np.zeros(0, dtype=np.float32)
        vectors = self._query_vectors(text)
        whole = vectors[0]
        scores = self._vectors @ whole + MEANT_TOOL_SHARE * (self._tools @ whole)[self._tool_of]
        sentences = vectors[1:] if len(vectors) > 1 else vectors
        scores = scores + BEST_SENTENCE * (self._vectors @ sentences.T).max(axis=1)
        return np.asarray(scores)

    def _embed_query(self, text: str) -> np.ndarray[Any, Any]:
        parts = [part for part in SENTENCE_END.split(text) if part.strip()][:MAX_SENTENCES]
        # A query of one sentence is embedded once.
        return self._embedder.embed(list(dict.fromkeys((text, *parts))))

    def save(self, folder: Path) -> None:
        """Write the embeddings into an existing folder."""
        import numpy as np

        np.save(folder / "tools.npy", self._tool_of)
        np.save(folder / "vectors.npy", self._vectors)

    @classmethod
    def load(cls, folder: Path, embedder: MiniLm) -> SemanticIndex:
        """Read embeddings that were saved.

        Raises:
            OSError, ValueError: they are damaged.
        """
        import numpy as np

        return cls(np.load(folder / "vectors.npy"), np.load(folder / "tools.npy"), embedder)


def _means(vectors: np.ndarray[Any, Any], tool_of: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the direction of each tool, which is the normalised sum of its Apis' vectors."""
    import numpy as np

    sums = np.zeros((int(tool_of.max(initial=-1)) + 1, vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, tool_of, vectors)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    means: np.ndarray[Any, Any] = sums / np.where(lengths == 0, 1, lengths)
    return means


RANK_K = 10
"""The constant of Reciprocal Rank Fusion (Cormack, Clarke and Buettcher 2009), who used 60.

A small one trusts what one ranking puts first more than what both put in the middle.
"""


def fuse(rankings: Sequence[tuple[np.ndarray[Any, Any], float]]) -> np.ndarray[Any, Any]:
    """Return the weighted reciprocal ranks of several rankings, added up.

    Args:
        rankings: the scores of each and its weight. What scores minus infinity is not ranked, and gets nothing.
    """
    import numpy as np

    total = np.zeros(len(rankings[0][0]), dtype=np.float64)
    for scores, weight in rankings:
        order = np.argsort(-scores, kind="stable")
        order = order[np.isfinite(scores[order])]
        total[order] += weight / (RANK_K + np.arange(1, len(order) + 1))
    total[total == 0] = -np.inf
    return total


def best(scores: np.ndarray[Any, Any], count: int) -> list[int]:
    """Return the places of the best scores, best first; of equal ones the first first. Minus infinity is not ranked."""
    import numpy as np

    if count <= 0:
        return []
    # Most of a large catalog is not ranked; to look for the best among as many equal values takes long.
    places = np.flatnonzero(np.isfinite(scores))
    if len(places) > count:
        ranked = scores[places]
        places = places[ranked >= np.partition(ranked, len(ranked) - count)[len(ranked) - count]]
    order = places[np.argsort(-scores[places], kind="stable")]
    found: list[int] = order[:count].tolist()
    return found


log = logging.getLogger("trialbed.selection")

VERSION = 1
"""The version of the form and the making of indexes; a new version makes them again."""

Index = TypeVar("Index")


class CatalogIndex:
    """The Apis of a catalog in the order of their identities, and the folder of its indexes.

    Args:
        apis: each identity once; if one occurs twice, the first counts.
        folder: the place of indexes, in a folder for each digest; None to keep nothing.

    Attributes:
        refs: their identities in the order of the indexes, independent of the order given.
        digest: the catalog's.
    """

    def __init__(self, apis: Sequence[Api], folder: Path | None = None) -> None:
        self._catalog = ApiCatalog.of(apis)
        self.refs = tuple(sorted(self._catalog.refs, key=identity))
        self.digest = self._catalog.digest
        self._folder = folder

    @cached_property
    def apis(self) -> tuple[Api, ...]:
        """All Apis, in the order of ``refs``; an index that is kept does not need them."""
        return tuple(self._catalog.api(ref) for ref in self.refs)

    def api(self, ref: ApiRef) -> Api:
        """Return the Api of this identity."""
        return self._catalog.api(ref)

    def kept(
        self, kind: str, load: Callable[[Path], Index], make: Callable[[], Index], save: Callable[[Index, Path], None]
    ) -> Index:
        """Load the index of this kind under the catalog's digest, or build it and keep it there.

        An index that cannot be read or written is reported in the log, and built again.
        """
        if self._folder is None:
            return make()
        place = self._folder / self.digest[:32] / f"{kind}-{VERSION}"
        if place.is_dir():
            try:
                return load(place)
            except Exception as error:  # noqa: BLE001 - whatever a damaged file makes its reader raise
                log.warning("%s: the index cannot be read and is made anew: %s", place, error)
                shutil.rmtree(place, ignore_errors=True)
        made = make()
        try:
            write_folder(place, lambda folder: save(made, folder))
        except OSError as error:
            log.warning("%s: the index cannot be kept: %s", place, error)
        return made


def identity(ref: ApiRef) -> tuple[str, str, str]:
    """Return an Api's triple, the sort key."""
    return ref.category, ref.tool_name, ref.api_name
