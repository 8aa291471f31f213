"""Inspect: one sample a question and no scorer; its log goes to the disk, as it does by default."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.solver import generate
from job import AskAll, Body, Job, take


def _sample(body: Body) -> Sample:
    system, user = (message["content"] for message in body["messages"])
    return Sample(input=[ChatMessageSystem(content=system), ChatMessageUser(content=user)])


@asynccontextmanager
async def client(job: Job) -> AsyncIterator[AskAll]:
    """A task over all questions, evaluated with as many samples and connections at a time as the job says."""
    asked = job.timed[0]
    config = GenerateConfig(
        temperature=asked["temperature"],
        max_tokens=asked["max_tokens"],
        max_connections=job.in_flight,
        max_retries=0,
    )
    model = get_model(f"openai-api/bench/{asked['model']}", base_url=job.url, api_key="none", config=config)

    async def ask_all(bodies: Sequence[Body]) -> list[str]:
        task = inspect_ai.Task(dataset=[_sample(body) for body in bodies], solver=generate(), model=model)
        (log,) = await inspect_ai.eval_async(task, max_samples=job.in_flight, log_dir=job.folder)
        if log.status != "success" or log.samples is None:
            raise RuntimeError(f"Inspect ended with {log.status}: {log.error}")
        return [sample.output.completion for sample in sorted(log.samples, key=lambda sample: int(sample.id))]

    yield ask_all


if __name__ == "__main__":
    take(client, inspect_ai.__version__)
