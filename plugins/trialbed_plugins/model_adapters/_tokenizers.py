"""Make prompts for raw completions with the chat templates of tokenizers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from trialbed.contracts import ModelAdapter
from trialbed.errors import UsageError
from trialbed.installed import extra_command

EXTRA = "raw"
"""The extra with the library of tokenizers."""


class TokenizerAdapter(ModelAdapter):
    """Makes prompts and counts tokens with the model's own tokenizer. Its code only runs if it is trusted."""

    contract = "1"

    def prompt(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, tokenizer: str) -> str:
        """Apply the tokenizer's chat template to a conversation.

        Raises:
            UsageError: the tokenizer cannot be loaded, has no chat template, or its template cannot be applied.
        """
        own = _tokenizer(tokenizer, self.trust_tokenizer_code)
        try:
            return str(own.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True))
        except ImportError as error:
            reason = f"needs a library: {error}; {extra_command(EXTRA)}"
            raise UsageError(f"--tokenizer-model {tokenizer}: its chat template {reason}") from error
        except Exception as error:
            # Templates are programs and raise their own errors for conversations that they do not accept.
            raise UsageError(f"--tokenizer-model {tokenizer}: its chat template cannot be applied: {error}") from error

    def count_tokens(self, text: str, tokenizer: str) -> int | None:
        """Count the tokens of a text without the special tokens around it.

        Raises:
            UsageError: the tokenizer cannot be loaded.
        """
        return len(_tokenizer(tokenizer, self.trust_tokenizer_code).encode(text, add_special_tokens=False))


@lru_cache(maxsize=4)
def _tokenizer(name: str, trust: bool) -> Any:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise UsageError(f"raw completions need a tokenizer: {extra_command(EXTRA)}") from error
    try:
        return AutoTokenizer.from_pretrained(name, trust_remote_code=trust)
    except ImportError as error:
        raise UsageError(f"--tokenizer-model {name}: needs a library: {error}; {extra_command(EXTRA)}") from error
    except (OSError, ValueError) as error:
        hint = "" if trust else ". If it comes with code that you trust, add --trust-tokenizer-code"
        said = " ".join(str(error).split()).rstrip(".")
        raise UsageError(f"--tokenizer-model {name}: cannot be loaded: {said}{hint}") from error
