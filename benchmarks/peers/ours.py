"""The engine of this project: key, cache, retries, journal on the disk and reading of the answers included."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from job import AskAll, Body, Job, take

from eval_pipeline.judge.chat import ChatJudge
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.journal import Head, JournalWriter
from eval_pipeline.judge.prompt import Prompt, prompt_named
from eval_pipeline.judge.spending import Caps, Meter
from eval_pipeline.records import Question


def _question(body: Body) -> Question:
    return Question("bench", **json.loads(body["messages"][1]["content"]))


def _judge(job: Job, prompt: Prompt) -> ChatJudge:
    endpoint = Endpoint(
        base_url=job.url,
        model=job.timed[0]["model"],
        revision="",
        max_tokens=job.timed[0]["max_tokens"],
        extra={},
        api_key="none",
        in_flight=job.in_flight,
        attempt_timeout_s=60,
        total_timeout_s=600,
        prices=None,
    )
    return ChatJudge(endpoint, prompt, attempts=6, meter=Meter(Caps(), None))


@asynccontextmanager
async def client(job: Job) -> AsyncIterator[AskAll]:
    """A desk with an empty journal."""
    prompt = prompt_named("nli-v1")
    judge = _judge(job, prompt)
    with JournalWriter(Path(job.folder), Head(run="bench", judge=dict(judge.identity), plan={})) as journal:
        desk = Desk(judge, prompt, {}, journal)

        async def ask_all(bodies: Sequence[Body]) -> list[str]:
            worked = await work_through([_question(body) for body in bodies], desk.ask, workers=judge.in_flight)
            if worked.ended_by:
                raise worked.ended_by
            return [judgment.label or "" for judgment in worked.results if judgment]

        yield ask_all
    await judge.close()
    if desk.calls != len(job.warm_up) + len(job.timed):
        raise RuntimeError(f"asked {desk.calls} questions, expected {len(job.warm_up) + len(job.timed)}")


if __name__ == "__main__":
    take(client, "")
