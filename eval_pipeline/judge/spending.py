"""What asking costs: requests, tokens and money, counted as they are spent, and held under caps."""

import asyncio
from dataclasses import dataclass, field
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
    """Tokens of a prompt and of its completion; `dearer` says how many times what was expected is set aside in them."""

    prompt: int
    completion: int
    dearer: float = field(default=1.0, compare=False)

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion


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

    def add(self, tokens: Tokens) -> None:
        """Counts the tokens of a request."""
        self.prompt_tokens += tokens.prompt
        self.completion_tokens += tokens.completion

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

    What a request may cost is set aside before it is sent, and put right when it is known, so calls in flight together
    cannot go over a cap unseen. Where a server counts more than was expected, more is expected of it from then on.

    Judges that have one meter share its caps: together they spend no more, one after the other or in one event loop.
    """

    def __init__(self, caps: Caps, prices: Prices | None) -> None:
        self.caps = caps
        self.spending = Spending(prices)
        self._aside = NOTHING
        self._in_flight = 0
        self._dearer = 1.0
        self._settled, self._is_waited_for = asyncio.Event(), False

    async def set_aside(self, expected: Tokens) -> Tokens:
        """What is set aside for a request, which counts as sent; waits while it depends on what is in flight.

        Raises: CapReached: it could go over a cap even so; nothing is counted.
        """
        while cap := self._cap_under(self._aside, wanted := _times(expected, self._dearer)):
            if not self._in_flight or self._cap_under(NOTHING, wanted):
                raise CapReached(cap, self.spending)
            self._is_waited_for = True
            await self._settled.wait()
        self.spending.requests += 1
        self._in_flight += 1
        self._aside = _plus(self._aside, wanted)
        return Tokens(wanted.prompt, wanted.completion, self._dearer)

    def settle(self, aside: Tokens, used: Tokens) -> None:
        """Counts what a request did cost, in the place of what was set aside for it."""
        self._in_flight -= 1
        self._aside = _plus(self._aside, _times(aside, -1))
        self.spending.add(used)
        self._dearer = max(self._dearer, aside.dearer * used.total / max(1, aside.total))
        if self._is_waited_for:
            self._settled.set()
            self._settled, self._is_waited_for = asyncio.Event(), False

    def _cap_under(self, aside: Tokens, wanted: Tokens) -> str | None:
        """The cap that one more request could go over, with so much set aside for others."""
        spent, caps = self.spending, self.caps
        prompt, completion = (
            spent.prompt_tokens + aside.prompt + wanted.prompt,
            spent.completion_tokens + aside.completion + wanted.completion,
        )
        usd = Spending(spent.prices, prompt_tokens=prompt, completion_tokens=completion).usd
        if caps.requests is not None and spent.requests >= caps.requests:
            return f"{caps.requests:,} requests"
        if caps.tokens is not None and prompt + completion > caps.tokens:
            return f"{caps.tokens:,} tokens"
        return f"{caps.usd:g} USD" if caps.usd is not None and usd is not None and usd > caps.usd else None


def _plus(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(one.prompt + other.prompt, one.completion + other.completion)


def _times(tokens: Tokens, factor: float) -> Tokens:
    return Tokens(ceil(tokens.prompt * factor), ceil(tokens.completion * factor))
