"""What all clients share: a job on standard input, a warm-up, the timed section, and its figures on standard output.

The questions are the same for all, as bodies of requests; a client differs in what it does to have them answered.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]
AskAll = Callable[[Sequence[Body]], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class Job:
    """Where to ask, how many at the same time, and what; `folder` is for what a client keeps on the disk."""

    url: str
    in_flight: int
    folder: str
    warm_up: list[Body]
    timed: list[Body]


Client = Callable[[Job], AbstractAsyncContextManager[AskAll]]


def with_workers(ask: Callable[[Body], Awaitable[str]], workers: int) -> AskAll:
    """Asks with a fixed number of workers on one queue; the answers come in the order of the questions."""

    async def ask_all(bodies: Sequence[Body]) -> list[str]:
        answers = [""] * len(bodies)
        queue = iter(enumerate(bodies))

        async def worker() -> None:
            for place, body in queue:
                answers[place] = await ask(body)

        await asyncio.gather(*(worker() for _ in range(workers)))
        return answers

    return ask_all


def word_of(completion: Any) -> str:
    """What the model said, in a completion that was parsed."""
    return str(completion["choices"][0]["message"]["content"])


async def _figures(client: Client, job: Job, read: Callable[[str], str]) -> dict[str, Any]:
    async with client(job) as ask_all:
        await ask_all(job.warm_up)
        wall, cpu = time.perf_counter(), time.process_time()
        answers = await ask_all(job.timed)
        wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall_s": wall_s, "cpu_s": cpu_s, "answers": [read(answer) for answer in answers]}


def take(client: Client, version: str, read: Callable[[str], str] = str) -> None:
    """Does the job and prints what it took.

    Args:
        version: of the client's package; "" where it has none.
        read: the word in what the client gave for an answer, outside the timed section.

    """
    job = Job(**json.load(sys.stdin))
    print(json.dumps(asyncio.run(_figures(client, job, read)) | {"version": version}))
