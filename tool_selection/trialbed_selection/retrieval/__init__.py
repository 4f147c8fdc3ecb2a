"""Finds the Apis of a catalog that a text is about: by its words, by its meaning, and by both."""

from trialbed_selection.retrieval._fusion import best, fuse
from trialbed_selection.retrieval._kept import CatalogIndex
from trialbed_selection.retrieval._lexical import LexicalIndex
from trialbed_selection.retrieval._semantic import SemanticIndex
from trialbed_selection.retrieval._words import Words

__all__ = ["CatalogIndex", "LexicalIndex", "SemanticIndex", "Words", "best", "fuse"]
