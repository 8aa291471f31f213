"""What asking costs: requests, tokens and money, counted as they are spent, and held under caps."""

from dataclasses import dataclass
from math import ceil

from eval_pipeline.errors import Refused

_BYTES_A_TOKEN = 4  # of English under the tokenizers in use; an estimate, put in place of by what the server counts
_TOKENS_A_TURN = 8  # the marks that a chat template puts around the turns


@dataclass(frozen=True, slots=True)
class Prices:
    """USD for a million tokens of the prompt, and of the completion."""

    prompt_usd: float
    completion_usd: float


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that one run may spend; None where there is no cap."""

    requests: int | None = None
    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a prompt and of its completion."""

    prompt: int
    completion: int


NOTHING = Tokens(0, 0)


def estimated(*texts: str, completion: int) -> Tokens:
    """About how many tokens the texts of a request have, with the most that its completion may have."""
    return Tokens(_TOKENS_A_TURN + sum(ceil(len(text.encode()) / _BYTES_A_TOKEN) for text in texts), completion)


@dataclass(slots=True)
class Spending:
    """What was spent so far; `usd` is None without prices."""

    prices: Prices | None
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Those of prompts and completions together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def usd(self) -> float | None:
        """What the tokens cost."""
        if self.prices is None:
            return None
        prices = self.prices
        return (self.prompt_tokens * prices.prompt_usd + self.completion_tokens * prices.completion_usd) / 1e6

    def __str__(self) -> str:
        money = "" if self.usd is None else f", {self.usd:.4f} USD"
        return f"{self.requests:,} requests, {self.tokens:,} tokens{money}"


class CapReached(Refused):
    """One more request could spend more than a cap allows.

    What was spent is said as of when the message is read, since calls in flight are let end.
    """

    def __init__(self, cap: str, spending: Spending) -> None:
        self._cap = cap
        self._spending = spending
        super().__init__(cap)

    def __str__(self) -> str:
        return (
            f"the cap of {self._cap} leaves no room for one more request: {self._spending} were spent, and what was"
            " judged is kept; raise the cap and run again, only what has no label is asked again"
        )


class Meter:
    """Counts what is spent, and refuses a request that could go over a cap.

    What a request may cost is set aside before it is sent, so calls in flight together cannot go over a cap unseen.
    """

    def __init__(self, caps: Caps, prices: Prices | None) -> None:
        self._caps = caps
        self.spending = Spending(prices)

    def set_aside(self, expected: Tokens) -> None:
        """Counts a request with the tokens that it may cost.

        Raises: CapReached: it could go over a cap; nothing is counted.
        """
        spending, caps = self.spending, self._caps
        self._add(expected, requests=1)
        over = None
        if caps.requests is not None and spending.requests > caps.requests:
            over = f"{caps.requests:,} requests"
        elif caps.tokens is not None and spending.tokens > caps.tokens:
            over = f"{caps.tokens:,} tokens"
        elif caps.usd is not None and spending.usd is not None and spending.usd > caps.usd:
            over = f"{caps.usd:g} USD"
        if over:
            self._add(Tokens(-expected.prompt, -expected.completion), requests=-1)
            raise CapReached(over, spending)

    def settle(self, expected: Tokens, used: Tokens) -> None:
        """Puts what a request did cost in the place of what was set aside for it."""
        self._add(Tokens(used.prompt - expected.prompt, used.completion - expected.completion), requests=0)

    def _add(self, tokens: Tokens, *, requests: int) -> None:
        self.spending.requests += requests
        self.spending.prompt_tokens += tokens.prompt
        self.spending.completion_tokens += tokens.completion
