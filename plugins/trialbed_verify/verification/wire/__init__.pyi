from ._attempts import Attempt as Attempt
from ._attempts import milliseconds as milliseconds
from ._exchange import Exchange as Exchange
from ._exchange import trace as trace
from ._requests import Prepared as Prepared
