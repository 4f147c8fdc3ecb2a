from ._exchange import Exchange as Exchange
from ._requests import AttemptFields as AttemptFields
from ._requests import EndpointAttempt as EndpointAttempt
from ._requests import PreparedRequest as PreparedRequest
from ._requests import milliseconds as milliseconds
