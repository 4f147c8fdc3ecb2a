from ._dataset import MiniDriver as MiniDriver
from ._dataset import ShopSimulator as ShopSimulator
from ._simulator import MiniSimulator as MiniSimulator
