"""Finds the Apis of a catalog that a text is about: by its words, by its meaning, and by both."""

from trialbed_selection.retrieval._documents import ApiWords, tool_documents, tool_places
from trialbed_selection.retrieval._fusion import RANK_K, best, fuse
from trialbed_selection.retrieval._kept import CatalogIndex, identity
from trialbed_selection.retrieval._lexical import API_B, API_K1, TOOL_B, TOOL_K1, TOOL_SHARE, LexicalIndex
from trialbed_selection.retrieval._semantic import SemanticIndex
from trialbed_selection.retrieval._words import MAX_SENTENCES, SENTENCE_END, WORD, Words

__all__ = [
    "API_B",
    "API_K1",
    "MAX_SENTENCES",
    "RANK_K",
    "SENTENCE_END",
    "TOOL_B",
    "TOOL_K1",
    "TOOL_SHARE",
    "WORD",
    "ApiWords",
    "CatalogIndex",
    "LexicalIndex",
    "SemanticIndex",
    "Words",
    "best",
    "fuse",
    "identity",
    "tool_documents",
    "tool_places",
]
