"""The plan of the extraction study: every number and every rule that its verdict rests on."""

from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)

from eval_pipeline.gates import Comparison
from eval_pipeline.human_check.sheet import Draw
from eval_pipeline.judge.prompt import PROMPTS
from eval_pipeline.plan import Count, CountFromZero, Exact, Level, Plan, Section, Share
from eval_pipeline.stats.bootstrap import Ranks


def _cap(value: object) -> object:
    if value == "all" or (type(value) is int and value >= 1):
        return value
    raise ValueError('"all", or a whole number of 1 or more')


def _trust(value: object) -> object:
    if value == "tuned":
        return value
    return TypeAdapter(Share).validate_python(value)


def _known_prompt(prompt_id: str) -> str:
    if prompt_id not in PROMPTS:
        raise ValueError(f"one of {', '.join(sorted(PROMPTS))}")
    return prompt_id


def _strategy(value: object) -> object:
    if value in [strategy.value for strategy in Strategy]:
        return Strategy(value)
    raise ValueError(f"one of {', '.join(Strategy)}")


AtMost = Annotated[
    Literal["all"] | int,
    BeforeValidator(_cap),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "integer", "minimum": 1}]}),
]


class Strategy(StrEnum):
    """In which order the signals of an entry are asked about, all at once (the screen) or one by one.

    Under a judge that never contradicts itself all three come to the same; under one that errs they do not, so the
    choice is part of the estimator.
    """

    SCREEN_FIRST = "screen_first"
    BEST_FIRST = "best_first"
    NO_SCREEN = "no_screen"


class Claims(Section):
    """The thresholds."""

    recall_at_least: Share
    bound_at_most: Exact
    precision_at_least: Share


class Dense(Section):
    """The rule on long entries; a plan without this table has no such rule."""

    words: Count
    share: Share
    counted_on: Literal["judged", "fixture"]
    share_of_entries: Literal["exact", "floor"]


class Design(Section):
    """What must have been judged before a verdict on recall or uniformity binds."""

    entries: Count
    entries_per_workspace: CountFromZero
    bands: CountFromZero
    entries_missing_at_most: Share
    dense: Dense | None = None


class BootstrapRule(Section):
    """How the entries are drawn again, and which of the sorted draws bound an interval."""

    resamples: Annotated[int, Field(ge=100, le=1_000_000)]
    level: Level
    one_sided_level: Level
    valid_at_least: Share
    ranks: Ranks

    @property
    def fewest_valid(self) -> int:
        """How many draws must be valid."""
        return ceil(self.valid_at_least * self.resamples)


class Judging(Section):
    """How a proposition is judged, and what an answer that cannot be read means.

    The last three say which part of the judging is judged: the share of the screen's negatives whose signals are tried
    all the same, the canaries for each proposition, and the share of judgments that are asked for once more.
    """

    prompt: Annotated[str, AfterValidator(_known_prompt)]
    strategy: Annotated[Strategy, BeforeValidator(_strategy)]
    screen_order: Literal["seeded", "key"]
    signal_order: Literal["similarity", "key"]
    signals_at_most: AtMost
    attempts: Annotated[int, Field(ge=1, le=100)]
    unreadable_screen: Literal["ask_signals", "undecided"]
    unreadable_signal: Literal["undecided", "not_supported"]
    audited_negatives: Share
    canaries: Share
    repeats: Share


class Budget(Section):
    """How much may be judged, how that is drawn, and what a verdict on less than all is worth."""

    entries: AtMost
    propositions_per_entry: AtMost
    calls: AtMost
    draw: Literal["seeded", "first"]
    when_cut: Literal["underpowered", "decides"]


class CallErrors(Section):
    """The share of the answers to each kind of call that may give no label.

    A screen whose signals are too long for the model is no error: its signals are asked about one by one.
    """

    probe: Share
    canary: Share
    screen: Share
    signal: Share
    guard: Share


class Errors(Section):
    """How much may stay undecided."""

    counted_in: Literal["propositions", "calls"]
    at_most: Share
    recall_outcome: Literal["skip", "fail"]
    calls: CallErrors


class Scoring(Section):
    """What counts as judged, and how a share is compared with its threshold."""

    absent_entries: Literal["left_out", "missed"]
    undecided_entries: Literal["left_out", "drawn"]
    comparison: Comparison


class Guard(Section):
    """The precision guard: how many spans, from which of them, and what a broken span means."""

    spans: Count
    draw: Literal["seeded", "first"]
    judged_at_least: Count
    level: Level
    malformed_spans: Literal["fail", "left_out"]


class HumanCheck(Section):
    """How judgments are drawn for people to label, and what their labels must be worth.

    "entries" draws whole entries with all that was judged of them; "judgments" draws by verdict, quartile and kind.
    """

    draw: Draw
    share: Annotated[Exact, Field(gt=0, le=1)]
    raters: Annotated[int, Field(ge=1, le=2)]
    kappa_at_least: Annotated[Exact, Field(ge=-1, le=1)]
    unsure_at_most: Share


class Calibration(Section):
    """Which estimate decides, and what the pass of a judge is worth whose errors were never measured.

    "human_check" and "gold" decide by the estimate that is corrected for the errors which people, or the gold set,
    found in the judge; without them the raw estimate decides, of a judge that is uncalibrated. `trust` is the weight of
    the judge in the difference estimator. The judge is asked about the gold set only if `gold` says so.
    """

    decides: Literal["raw", "human_check", "gold"]
    uncalibrated_pass: Literal["warn", "pass"]
    trust: Annotated[Literal["tuned"] | Fraction, BeforeValidator(_trust), PlainSerializer(str, return_type=str)]
    gold: Literal["asked", "not_asked"]

    @model_validator(mode="after")
    def _gold_is_asked_where_it_decides(self) -> Self:
        if self.decides == "gold" and self.gold != "asked":
            raise ValueError('gold = "asked", since it decides')
        return self


class ExtractionPlan(Plan):
    """The whole plan."""

    study: Literal["extraction"]
    claims: Claims
    design: Design
    bootstrap: BootstrapRule
    judging: Judging
    budget: Budget
    errors: Errors
    scoring: Scoring
    guard: Guard
    human_check: HumanCheck
    calibration: Calibration
