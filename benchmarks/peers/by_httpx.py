"""httpx alone: one client, as many connections as workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from job import AskAll, Body, Job, take, with_workers, word_of


@asynccontextmanager
async def client(job: Job) -> AsyncIterator[AskAll]:
    """A client for all."""
    limits = httpx.Limits(max_connections=job.in_flight, max_keepalive_connections=job.in_flight)
    async with httpx.AsyncClient(limits=limits, timeout=60) as session:

        async def ask(body: Body) -> str:
            response = await session.post(f"{job.url}/chat/completions", json=body)
            response.raise_for_status()
            return word_of(response.json())

        yield with_workers(ask, job.in_flight)


if __name__ == "__main__":
    take(client, httpx.__version__)
