"""How many calls may be in flight: a limit that gives way to a server that refuses, and comes back slowly."""

import asyncio
from collections import deque

_ROUNDING = 1e-9  # so that 15.999..., which is 16 but for the rounding, is 16


class LiveLimit:
    """Permits for calls in flight, `most` at the beginning.

    After as many answers as may be in flight, the limit is set anew. It grows by the share of them that the server did
    not refuse for being busy, so by one if it refused none. It falls by half the share that was refused, so that
    refusals at random hardly move it, or by the square of that share where it is the most of them, so that a server
    that refuses all but a few is sent a few. Under a server with room for k calls it settles near k.

    Source: after DCTCP, Alizadeh et al. (2010), Data Center TCP, SIGCOMM 40(4), 63-74, with calls for packets; the
    square is ours.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._in_flight = self._answers = self._refused = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """How many calls may be in flight now; at least 1."""
        return int(self._limit + _ROUNDING)

    def take_at_once(self) -> bool:
        """Whether one more call may be sent now; it counts as in flight if so."""
        if self._in_flight >= self.limit or self._waiting:
            return False
        self._in_flight += 1
        return True

    async def take(self) -> None:
        """Returns when one more call may be sent; first come, first served."""
        if self.take_at_once():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the permit came, and nobody is left to use it
                self._in_flight -= 1
                self._wake()
            raise

    def give_back(self, *, busy: bool) -> None:
        """The call is over; `busy` says that the server refused it for having too much to do."""
        self._in_flight -= 1
        self._answers += 1
        self._refused += busy
        if self._answers >= self._limit:
            share = self._refused / self._answers
            fallen = self._limit * (1 - max(share / 2, share**2))
            self._limit = max(1.0, min(self._most, fallen + 1 - share))
            self._answers = self._refused = 0
        self._wake()

    def put_back(self) -> None:
        """Gives a permit back under which nothing was sent."""
        self._in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._in_flight < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)
