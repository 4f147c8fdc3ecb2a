"""The embedded dataset: a small invented world, Apis over it, and sixty queries about it.

Everything is data (``tables/``, ``apis/``, ``queries.json``): an Api says which table it reads, which
parameters filter and which columns come back, so that responses are deterministic, consistent with each
other and computed for any arguments. The world is invented so that no model can know the answers.
"""

from trialbed_plugins.datasets.mini._dataset import MiniDataset, MiniDriver
from trialbed_plugins.datasets.mini._shop import ShopSimulator
from trialbed_plugins.datasets.mini._simulator import MiniSimulator

__all__ = ["MiniDataset", "MiniDriver", "MiniSimulator", "ShopSimulator"]
