"""A judge by its name, as the command line and the launchpad give it: KIND or KIND:ARG."""

from pathlib import Path

from eval_pipeline.errors import JudgeUnknown
from eval_pipeline.judge.chat import ChatJudge
from eval_pipeline.judge.endpoint import Endpoint
from eval_pipeline.judge.offline import LexicalJudge, UnrecordedJudge, read_labels, read_replay, read_replays
from eval_pipeline.judge.prompt import Prompt
from eval_pipeline.judge.protocol import Judge
from eval_pipeline.judge.spending import Caps, Meter

KINDS = "lexical, labels:FILE, replay:JOURNAL, chat"

_ASKED_ABOUT = {
    "alignment": "all claims that are judged by their passage",
    "constraint": "all claims that are judged by a rule",
}


def judge_named(name: str, prompt: Prompt, endpoint: Endpoint, *, attempts: int, caps: Caps) -> Judge:
    """The judge, ready to be asked.

    Args:
        attempts: the most requests that a judge behind an endpoint may send for one question.
        caps: the most that such a judge may spend; of several judges of one run, see `judge_on_meter`.

    Raises: JudgeUnknown, MalformedLabels, MalformedJournal: as `judge_on_meter`.

    """
    return judge_on_meter(name, prompt, endpoint, attempts=attempts, meter=Meter(caps, endpoint.prices))


def judge_on_meter(name: str, prompt: Prompt, endpoint: Endpoint, *, attempts: int, meter: Meter) -> Judge:
    """The judge, ready to be asked, and on a meter that others may be on too.

    Args:
        attempts: the most requests that a judge behind an endpoint may send for one question.
        meter: counts what such a judge spends, at the meter's prices, and holds it under the caps together with what
            the others spend; one for all judges of a run.

    Raises:
        JudgeUnknown: no such kind, no file named where the kind needs one, no endpoint for `chat`, or a cap on money
            without prices.
        MalformedLabels, MalformedJournal: the file that was named cannot be used.

    """
    kind, _, argument = name.partition(":")
    if kind == "lexical" and not argument:
        return LexicalJudge(prompt.task)
    if kind in ("labels", "replay"):
        if not argument:
            raise JudgeUnknown(f"judge {name!r} names no file; write {kind}:FILE")
        return read_labels(Path(argument)) if kind == "labels" else _replay(Path(argument), prompt)
    if kind == "chat" and not argument:
        missing = [
            f"EVAL_PIPELINE_JUDGE_{field.upper()}" for field in ("base_url", "model") if not getattr(endpoint, field)
        ]
        if missing:
            raise JudgeUnknown(f"judge 'chat' is not configured; set {' and '.join(missing)}")
        caps = meter.caps
        if caps.usd is not None and meter.spending.prices is None:
            raise JudgeUnknown("a cap in USD needs the judge's prices; set EVAL_PIPELINE_JUDGE_PRICES")
        if (caps.tokens, caps.usd) != (None, None) and endpoint.longest_answer is None:
            raise JudgeUnknown("a cap on tokens or money needs the longest answer; leave max_tokens in the request")
        return ChatJudge(endpoint, prompt, attempts=attempts, meter=meter)
    raise JudgeUnknown(f"judge {name!r} is unknown; expected one of {KINDS}")


def _replay(path: Path, prompt: Prompt) -> Judge:
    """The recorded judge under that prompt.

    Claims are judged under two prompts, of which a journal holds one or both; one that lacks this prompt is refused
    when there is a claim to ask about. Of entailment there is one prompt, the plan's, and it is refused at once.
    """
    replays = (read_replay(path),) if prompt.task == "entailment" else read_replays(path)
    for judge in replays:
        if judge.was_under(prompt):
            return judge
    names = " and ".join(repr(judge.prompt_id) for judge in replays)
    if prompt.task == "entailment":
        raise JudgeUnknown(
            f"journal {str(path)!r} was recorded under prompt {names} and the plan has {prompt.id!r}, as it stands"
            " here; name a plan with the recorded prompt"
        )
    return UnrecordedJudge(
        prompt,
        f"journal {str(path)!r} was recorded under {names} and holds nothing under prompt {prompt.id!r}, as it stands"
        f" here, so that {_ASKED_ABOUT[prompt.task]} are missing; name the judgments.jsonl of a whole calibration",
    )
