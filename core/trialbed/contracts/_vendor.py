"""The contracts of a vendor and of a model adapter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

VENDOR_CONTRACT = "1"
"""The version of ``Vendor`` and ``ModelAdapter``; a driver names the one it was written for as ``contract``."""


class Vendor:
    """An OpenAI-compatible endpoint and its peculiarities; a driver of the group ``trialbed.vendors`` is a subclass.

    A subclass of a few lines is enough. The class attributes give the endpoint's address and its names of models,
    ``prepare`` adds anything else that its requests need.

    Class attributes:
        contract: the contract's version the driver was written for (``"1"``); checked at load.
        base_url: the vendor's address, ending before ``/chat/completions``; empty if it has to be given.
        key_variable: the environment variable that usually holds its key.
        models: unified model name -> the vendor's own id.

    Args:
        base_url: another address, such as a proxy's; default: the class's.
        provider: the provider that a router must use, if the vendor is a router.
    """

    contract: ClassVar[str]
    base_url: ClassVar[str] = ""
    key_variable: ClassVar[str] = ""
    models: ClassVar[Mapping[str, str]] = {}

    def __init__(self, *, base_url: str | None = None, provider: str | None = None) -> None:
        self.url = (base_url or self.base_url).rstrip("/")
        self.provider = provider

    def model_id(self, model: str) -> str:
        """Return the vendor's id of a model; other names stay unchanged."""
        return self.models.get(model, model)

    def headers(self, api_key: str) -> dict[str, str]:
        """Return the headers of a request; none of them is ever recorded."""
        return {"Authorization": f"Bearer {api_key}"}

    def prepare(self, request: dict[str, Any], model: str) -> dict[str, Any]:  # noqa: ARG002 - drivers override it
        """Return the request that this vendor needs, which is the same one or a changed copy.

        Args:
            request: the body, with the vendor's model id.
            model: the unified name.
        """
        return request


class ModelAdapter(ABC):
    """The changes a family of models needs in requests; a driver of the group ``trialbed.model_adapters``.

    Class attributes:
        contract: the contract's version the driver was written for (``"1"``); checked at load.

    Attributes:
        trust_tokenizer_code: whether ``prompt`` may run code that comes with a tokenizer; false unless the user asks.
    """

    contract: ClassVar[str]
    trust_tokenizer_code: bool = False

    @classmethod
    @abstractmethod
    def recognises(cls, model: str) -> bool:
        """Return whether a model of this name is of the family."""

    def transform(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the conversation that the model needs; must not change its argument."""
        return messages

    def prompt(
        self,
        messages: list[dict[str, Any]],  # noqa: ARG002 - drivers override it
        tools: list[dict[str, Any]] | None,  # noqa: ARG002 - drivers override it
        tokenizer: str,  # noqa: ARG002 - drivers override it
    ) -> str:
        """Return the conversation as the text of a raw completion.

        Args:
            tokenizer: the name or folder of the tokenizer with the chat template.

        Raises:
            UsageError: the family has no raw completions, or the tokenizer cannot be loaded.
        """
        from trialbed.errors import UsageError

        raise UsageError(f"{type(self).__name__} has no raw completions; leave --use-raw-completions out")

    def count_tokens(self, text: str, tokenizer: str) -> int | None:  # noqa: ARG002 - drivers override it
        """Count the tokens of a text; None if that is not known.

        Args:
            tokenizer: as ``prompt`` is given it.
        """
        return None

    def calls_of(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Return the text of a raw completion without its tool calls, and the calls in OpenAI's form."""
        return text, []
