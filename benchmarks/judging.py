"""Judge calls a second and CPU time a call: this project's engine beside other clients, against one endpoint.

Each client asks in a process of its own and has opened its connections before the clock starts. The clients take turns,
so that what else the machine does falls on all alike; the figures are medians. Slow clients are asked for fewer calls.
The floor is a client of raw sockets, which does nothing but send encoded bytes. Needs two cores.
"""

import argparse
import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval_pipeline.judge.prompt import prompt_named, user_turn
from eval_pipeline.records import Question

HERE = Path(__file__).parent
PROMPT, MODEL, MAX_TOKENS, SEED = "nli-v1", "bench", 8, 1
PREMISE_WORDS, HYPOTHESIS_WORDS, VOCABULARY = 40, 10, 60


@dataclass(frozen=True, slots=True)
class Setting:
    """How many calls are in flight, and how long the endpoint takes for each."""

    in_flight: int
    latency_ms: float

    @property
    def rounds(self) -> int:
        """How often each worker of a fast client asks: for about six seconds."""
        return max(10, round(6000 / self.latency_ms))


@dataclass(frozen=True, slots=True)
class Contender:
    """A client by its script; `calls_at_most` keeps a slow one short."""

    name: str
    script: str
    calls_at_most: int
    python: str


@dataclass(frozen=True, slots=True)
class Figures:
    """What one client took for one job."""

    calls: int
    wall_s: float
    cpu_s: float
    version: str


SETTINGS = (Setting(64, 50), Setting(256, 300))
ALL = 1_000_000


def contenders(peers: str) -> tuple[Contender, ...]:
    """All clients, the floor first; `peers` is the interpreter for those that are no dependencies of the project."""
    return (
        Contender("raw sockets", "by_sockets.py", ALL, sys.executable),
        Contender("eval_pipeline", "ours.py", ALL, sys.executable),
        Contender("aiohttp", "by_aiohttp.py", ALL, sys.executable),
        Contender("httpx", "by_httpx.py", 1024, sys.executable),
        Contender("openai", "by_openai.py", 2560, peers),
        Contender("inspect-ai", "by_inspect.py", 512, peers),
    )


def requests(number: int) -> list[dict[str, Any]]:
    """The bodies of so many distinct requests, as the engine sends them."""
    rng = random.Random(SEED)
    words = [f"word{place}" for place in range(VOCABULARY)]
    prompt = prompt_named(PROMPT)
    bodies = []
    for place in range(number):
        premise = " ".join(rng.choices(words, k=PREMISE_WORDS))
        known = rng.sample(premise.split(), k=HYPOTHESIS_WORDS // 2)
        hypothesis = " ".join([*known, *rng.choices(words, k=HYPOTHESIS_WORDS - len(known))])
        question = user_turn(Question("bench", f"{premise} no. {place}", hypothesis))
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": question}]
        bodies.append({"model": MODEL, "messages": messages, "temperature": 0, "max_tokens": MAX_TOKENS})
    return bodies


@contextlib.contextmanager
def endpoint(latency_ms: float) -> Iterator[str]:
    """The base URL of an endpoint in a process of its own."""
    command = [sys.executable, str(HERE / "endpoint.py"), "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        yield server.stdout.readline().strip()
        assert server.stdin
        server.stdin.close()


def measured(contender: Contender, setting: Setting, url: str, bodies: list[dict[str, Any]]) -> tuple[Figures, str]:
    """The figures of one job, and its answers as a row of 1 and 0.

    Raises: ModuleNotFoundError: the interpreter does not have the client's package.
    """
    warm, calls = 2 * setting.in_flight, min(contender.calls_at_most, setting.rounds * setting.in_flight)
    with tempfile.TemporaryDirectory() as folder:
        job = {
            "url": url,
            "in_flight": setting.in_flight,
            "folder": folder,
            "warm_up": bodies[:warm],
            "timed": bodies[warm : warm + calls],
        }
        command = [contender.python, str(HERE / "peers" / contender.script)]
        run = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    if missing := re.search(r"^ModuleNotFoundError: (.*)$", run.stderr, re.MULTILINE):
        raise ModuleNotFoundError(missing[1])
    if run.returncode:
        raise SystemExit(f"{contender.name} failed:\n{run.stderr[-2000:]}")
    found = json.loads(run.stdout.splitlines()[-1])
    answers = "".join("1" if answer == "SUPPORTED" else "0" for answer in found["answers"])
    return Figures(calls, found["wall_s"], found["cpu_s"], found["version"]), answers


def compared(
    clients: Sequence[Contender], setting: Setting, url: str, repeats: int
) -> dict[Contender, list[Figures] | None]:
    """The figures of each client, None where it is not installed.

    Raises: SystemExit: a client failed, or its answers are not those of the first.
    """
    bodies = requests((setting.rounds + 2) * setting.in_flight)
    found: dict[Contender, list[Figures] | None] = {client: [] for client in clients}
    right = ""
    for _ in range(repeats):
        for client in clients:
            figures = found[client]
            if figures is None:
                continue
            try:
                figure, answers = measured(client, setting, url, bodies)
            except ModuleNotFoundError:
                found[client] = None
                continue
            right = right or answers
            if answers != right[: figure.calls]:
                raise SystemExit(f"{client.name} was given other answers than {clients[0].name}")
            figures.append(figure)
    return found


def rows(setting: Setting, found: dict[Contender, list[Figures] | None]) -> Iterator[str]:
    """A line for each client."""
    floor = next(iter(found.values()))
    assert floor
    floor_rate = statistics.median(figure.calls / figure.wall_s for figure in floor)
    for client, figures in found.items():
        begin = f"{setting.in_flight:>9}  {setting.latency_ms:>4g} ms  "
        if figures is None:
            yield f"{begin}{client.name:<22} not installed"
            continue
        rate = statistics.median(figure.calls / figure.wall_s for figure in figures)
        cpu_ms = statistics.median(1000 * figure.cpu_s / figure.calls for figure in figures)
        yield (
            f"{begin}{f'{client.name} {figures[0].version}'.strip():<22} {figures[0].calls:>6} {rate:>8.0f}"
            f" {rate / floor_rate:>7.1%} {cpu_ms:>13.3f}"
        )


def main() -> None:
    """Prints a line for each client and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has openai and inspect-ai")
    parser.add_argument("--url", help="the base URL of another endpoint; name its latency in --settings")
    parser.add_argument(
        "--settings", nargs="+", default=SETTINGS, type=lambda text: Setting(*map(int, text.split("x"))),
        help="in flight x latency in ms, such as 64x50",
    )  # fmt: skip
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="these clients, and the raw sockets")
    arguments = parser.parse_args()
    clients = [
        client
        for place, client in enumerate(contenders(arguments.peers))
        if not place or not arguments.only or client.name in arguments.only
    ]
    print(f"medians of {arguments.repeats}; load of the machine before: {os.getloadavg()[0]:.2f}")
    print(f"in flight  latency  {'client':<20} {'calls':>6} {'calls/s':>8} {'of raw':>7} {'CPU ms a call':>13}")
    for setting in arguments.settings:
        with contextlib.nullcontext(arguments.url) if arguments.url else endpoint(setting.latency_ms) as url:
            for row in rows(setting, compared(clients, setting, url, arguments.repeats)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
