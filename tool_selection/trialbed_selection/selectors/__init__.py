"""Ways to choose the Apis that an agent is offered; each is a driver of ``trialbed.selectors``."""

from trialbed_selection.selectors._keyword import KeywordSelector
from trialbed_selection.selectors._llm import LlmSelector
from trialbed_selection.selectors._retrieved import Bm25Selector, EmbeddingSelector, HybridSelector
from trialbed_selection.selectors._unranked import AllSelector, GoldSelector, QuerySelector

__all__ = [
    "AllSelector",
    "Bm25Selector",
    "EmbeddingSelector",
    "GoldSelector",
    "HybridSelector",
    "KeywordSelector",
    "LlmSelector",
    "QuerySelector",
]
