from ._llm import LlmSelector as LlmSelector
from ._retrieved import Bm25Selector as Bm25Selector
from ._retrieved import EmbeddingSelector as EmbeddingSelector
from ._retrieved import HybridSelector as HybridSelector
from ._unranked import AllSelector as AllSelector
from ._unranked import GoldSelector as GoldSelector
from ._unranked import QuerySelector as QuerySelector
