"""aiohttp alone: one session, as many connections as workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from job import AskAll, Body, Job, take, with_workers, word_of


@asynccontextmanager
async def client(job: Job) -> AsyncIterator[AskAll]:
    """A session for all."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=job.in_flight)) as session:

        async def ask(body: Body) -> str:
            async with session.post(f"{job.url}/chat/completions", json=body) as response:
                response.raise_for_status()
                return word_of(await response.json())

        yield with_workers(ask, job.in_flight)


if __name__ == "__main__":
    take(client, aiohttp.__version__)
