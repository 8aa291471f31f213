"""The nouns of the house: what is measured, what was judged, and what is said of it."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Self

Number = float | Fraction


class Outcome(StrEnum):
    """What a gate says of a claim; a skip is never a pass."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class Reason(StrEnum):
    """Why a claim did not simply pass."""

    FIXTURE_MISSING = "fixture_missing"
    FIXTURE_MALFORMED = "fixture_malformed"
    FIXTURE_DRIFT = "fixture_drift"
    CORPUS_UNREACHABLE = "corpus_unreachable"
    CORPUS_INCOMPLETE = "corpus_incomplete"
    CORPUS_MALFORMED = "corpus_malformed"
    CORPUS_EMPTY = "corpus_empty"
    JUDGE_DOWN = "judge_down"
    CAP_REACHED = "cap_reached"
    UNTRUSTWORTHY = "untrustworthy"
    UNDERPOWERED = "underpowered"
    THIN_QUARTILES = "thin_quartiles"
    SPAN_PENDING = "span_pending"
    SPAN_MALFORMED = "span_malformed"
    SEAL_BROKEN = "seal_broken"
    UNCALIBRATED = "uncalibrated"
    NOT_MEASURED = "not_measured"
    NOT_SHOWN = "not_shown"
    RATERS_DISAGREE = "raters_disagree"
    CHECK_OUTDATED = "check_outdated"
    JUDGE_ERRORS = "judge_errors"
    UNDECIDED = "undecided"
    UNREPEATABLE = "unrepeatable"
    UNCOVERED = "uncovered"
    RATERS_FLAGGED = "raters_flagged"
    DRIFT = "drift"
    RUBRIC_GAPS = "rubric_gaps"
    DEPTH = "depth"
    DEPENDENT = "dependent"
    MECHANISM_BROKEN = "mechanism_broken"
    BASELINE_CHANGED = "baseline_changed"
    NO_VARIATION = "no_variation"
    NO_BAR = "no_bar"
    THRESHOLD_MISSED = "threshold_missed"


class Label(StrEnum):
    """What a judge says of a hypothesis, given a premise."""

    SUPPORTED = "SUPPORTED"
    NOT_SUPPORTED = "NOT_SUPPORTED"


class Alignment(StrEnum):
    """Whether the cited passage carries a claim."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"
    AMBIGUOUS = "AMBIGUOUS"
    RETRIEVAL_FAILED = "RETRIEVAL_FAILED"


class Compliance(StrEnum):
    """Whether a claim breaks a rule."""

    VIOLATED = "VIOLATED"
    NOT_VIOLATED = "NOT_VIOLATED"


class NoLabel(StrEnum):
    """Why a judge was asked and no label came of it; an event, never a verdict."""

    UNPARSABLE = "unparsable"
    REFUSED = "refused"
    CUT_OFF = "cut_off"
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    TOO_LONG = "too_long"
    NOT_LABELLED = "not_labelled"
    NOT_RECORDED = "not_recorded"


class Fate(StrEnum):
    """What became of a proposition."""

    RECOVERED = "recovered"
    MISSED = "missed"
    UNDECIDED = "undecided"


class Kind(StrEnum):
    """What a judgment was asked for.

    The last five decide no proposition: they say what the others are worth.
    """

    NO_SIGNALS = "recall_no_signals"
    SCREEN = "recall_screen"
    SIGNAL = "recall_signal"
    SPAN = "precision_span"
    PROBE = "probe"
    AUDIT = "screen_audit"
    CANARY = "canary"
    REPEAT = "repeat"
    GOLD = "gold"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal on its way to the verdict: the reason, and the sentence that says what to do."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of an estimate, in the estimate's unit; an end that is None is open."""

    low: Number | None
    high: Number | None
    level: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A long note of the corpus. Workspace and band are None where the corpus does not record them."""

    id: str
    workspace: str | None
    band: str | None
    content: str


@dataclass(frozen=True, slots=True)
class Signal:
    """A short statement that was extracted from an entry.

    `start` and `end` are the recorded span: 0-based character offsets into the entry, `end` exclusive. `span_fault`
    says why what was recorded is not a span at all; all three are None where no span was recorded.
    """

    id: str
    entry_id: str
    content: str
    start: int | None
    end: int | None
    span_fault: str | None


@dataclass(frozen=True, slots=True)
class Proposition:
    """An annotator's atomic claim of an entry, and the quarter of the text (1 to 4) in which it stands."""

    entry_id: str
    quartile: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked: does the premise, one text or several, support the hypothesis?

    `given` is what else it is shown, by name, such as the rule that a claim must keep to. `repeat` numbers the times
    that it is asked once more, only to see whether the answer stays the same.
    """

    entry_id: str
    premise: str | tuple[str, ...]
    hypothesis: str
    repeat: int = 0
    given: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the judge's words as they stood, or why there are none.

    `attempts` are the requests that it took, `tokens` those of prompt and completion together, None where the judge
    does not count them. `unread` holds a first answer that could not be read, where the question was put again.
    """

    raw: str | None
    no_label: NoLabel | None
    attempts: int
    latency_s: float
    tokens: int | None
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class Judgment:
    """A question, its answer and the label read from it; `label` and `no_label` exclude each other."""

    key: str
    question: Question
    answer: Answer
    label: StrEnum | None
    no_label: NoLabel | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of one claim, and on what evidence.

    `advisory` says that the numbers were measured and do not bind. Numbers that may not be stated are None.
    """

    claim: str
    outcome: Outcome
    reason: Reason | None
    detail: str
    estimate: Number | None
    numerator: int | None
    denominator: int | None
    interval: Interval | None
    threshold: Fraction | None
    advisory: bool

    @classmethod
    def withheld(cls, claim: str, reason: Reason, detail: str) -> Self:
        """What is said where nothing can be: no outcome but a skip, and no number."""
        return cls(claim, Outcome.SKIP, reason, detail, None, None, None, None, None, advisory=False)
