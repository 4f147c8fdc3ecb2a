"""Embeddings of an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from trialbed.errors import ModelFailed
from trialbed.records import ModelEndpoint, Usage
from trialbed.wire import TRANSIENT
from trialbed.wire.redaction import redaction_of

if TYPE_CHECKING:
    import httpx
    import numpy as np

    from trialbed.model_access import ModelBudget

BATCH = 256
"""Texts of a request; OpenAI takes 2,048, other servers fewer."""

MOST_TOKENS = 10**9
"""Tokens of one request; a larger number is none that was used."""

ATTEMPTS = 4
TIMEOUT = 120.0


class _EndpointBusy(Exception):
    """The endpoint may answer later."""


class EndpointEmbedder:
    """The embeddings of a model behind ``POST {base_url}/embeddings``.

    Args:
        endpoint: where the model is.
        budget: counts the requests, and keeps their limits; None for any number.
        transport: httpx's, for tests.
        wait: the longest time between attempts, in seconds.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        budget: ModelBudget | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        wait: float = 8.0,
    ) -> None:
        import httpx

        self.name = f"{endpoint.model} at {endpoint.base_url}"
        self._endpoint = endpoint
        self._budget = budget
        headers = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        self._client = httpx.Client(headers=headers, transport=transport, timeout=TIMEOUT)
        self._wait = wait

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """One unit vector per text.

        Raises:
            ModelFailed: the budget is used up, or the endpoint cannot be reached, refuses, or sends no embeddings.
        """
        import numpy as np

        rows = [row for start in range(0, len(texts), BATCH) for row in self._batch(texts[start : start + BATCH])]
        if len({len(row) for row in rows}) > 1:
            raise ModelFailed(f"{self.name} sent embeddings of different lengths")
        with np.errstate(over="ignore"):
            vectors = np.array(rows, dtype=np.float32).reshape(len(rows), -1)
        if rows and not (vectors.shape[1] and np.isfinite(vectors).all()):
            raise ModelFailed(
                f"{self.name} sent embeddings that are empty, or hold something other than 32-bit numbers"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: np.ndarray[Any, Any] = vectors / np.where(lengths == 0, 1, lengths)
        return unit

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        attempts = Retrying(
            retry=retry_if_exception_type(_EndpointBusy),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_random_exponential(max=self._wait),
            reraise=True,
        )
        # An endpoint refuses an empty text.
        sent = [text.encode(errors="replace").decode().strip() or "-" for text in texts]
        if self._budget is not None:
            self._budget.take_request()
        try:
            reply = attempts(self._post, sent)
        except _EndpointBusy as error:
            raise ModelFailed(f"{self.name}: no embeddings after {ATTEMPTS} attempts: {error}") from error
        self._count(reply)
        return self._read(reply, len(sent))

    def _count(self, reply: Any) -> None:
        if self._budget is None:
            return
        usage = reply.get("usage") if isinstance(reply, dict) else None
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens <= MOST_TOKENS:
            self._budget.add_tokens(Usage(prompt_tokens=tokens))
        else:
            self._budget.add_unreported()

    def _post(self, texts: list[str]) -> Any:
        import httpx

        url = f"{self._endpoint.base_url.rstrip('/')}/embeddings"
        try:
            response = self._client.post(url, json={"model": self._endpoint.model, "input": texts})
        except httpx.TransportError as error:
            raise _EndpointBusy(f"{type(error).__name__}: {error}") from error
        if response.status_code in TRANSIENT:
            raise _EndpointBusy(f"status {response.status_code}")
        if response.is_error:
            told = redaction_of((self._endpoint.api_key,) if self._endpoint.api_key else ()).text(response.text)
            raise ModelFailed(f"{self.name} refused embeddings: status {response.status_code}: {told[:300]}")
        try:
            return response.json()
        except ValueError as error:
            raise ModelFailed(f"{self.name} did not send JSON: {error}") from error

    def _read(self, reply: Any, count: int) -> list[list[float]]:
        try:
            rows = sorted(reply["data"], key=lambda row: row["index"])
            vectors = [[float(value) for value in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFailed(f"{self.name} sent no embeddings: {error!r}") from error
        if len(vectors) != count:
            raise ModelFailed(f"{self.name} sent {len(vectors)} embeddings for {count} texts")
        if [row["index"] for row in rows] != list(range(count)):
            raise ModelFailed(f"{self.name} sent embeddings whose indexes are not those of the texts, 0 to {count - 1}")
        return vectors
