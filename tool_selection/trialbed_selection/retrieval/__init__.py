"""Finds the Apis of a catalog that a text is about: by its words, by its meaning, and by both."""

from trialbed_selection.retrieval._fusion import best, fuse
from trialbed_selection.retrieval._kept import CatalogIndex, identity
from trialbed_selection.retrieval._lexical import LexicalIndex
from trialbed_selection.retrieval._semantic import SemanticIndex
from trialbed_selection.retrieval._words import WORD, Words

__all__ = ["WORD", "CatalogIndex", "LexicalIndex", "SemanticIndex", "Words", "best", "fuse", "identity"]
