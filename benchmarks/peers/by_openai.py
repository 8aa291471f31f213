"""The openai SDK, as its manual has it: one client for all, no retries."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
from job import AskAll, Body, Job, take, with_workers


@asynccontextmanager
async def client(job: Job) -> AsyncIterator[AskAll]:
    """A client for all."""
    async with openai.AsyncOpenAI(base_url=job.url, api_key="none", max_retries=0) as session:

        async def ask(body: Body) -> str:
            completion = await session.chat.completions.create(**body)
            return completion.choices[0].message.content or ""

        yield with_workers(ask, job.in_flight)


if __name__ == "__main__":
    take(client, openai.__version__)
