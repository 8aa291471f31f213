"""What becomes of the loop: four words, each with its reason and what to do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.strategy_feedback.plan import Deciding


class Word(StrEnum):
    """Switch the loop on; leave it off; look again with more data; it helps, by less than was registered."""

    SHIP = "ship"
    REVERT = "revert"
    MORE_DATA = "more_data"
    BELOW_EFFECT = "below_registered_effect"


HeldOutStanding = Literal["confirmed", "not_contradicted", "contradicted"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A word, and a sentence that says why and what to do."""

    word: Word
    reason: str


def decide(difference: Number, interval: Interval, plan: Deciding) -> Decision:
    """What a difference in pass rate, loop on less loop off, decides at the planned number.

    An interval that ends at 0 does not leave it out. The rules exclude each other and leave nothing out: whatever is
    not above 0 is reverted, whether or not its interval spans 0; what is above 0 is looked at further.
    """
    assert interval.low is not None
    shown, bar = f"the loop changes the pass rate by {_points(difference)} {_ends(interval)}", plan.ship_at_least
    if difference <= 0:
        sure = "and is shown to harm" if interval.high is not None and interval.high < 0 else "which is no gain"
        return Decision(Word.REVERT, f"{shown}, {sure}; switch it off and clear what it has learnt")
    if interval.low <= 0:
        return Decision(
            Word.MORE_DATA,
            f"{shown}, which leaves 0 possible; keep the control arm, and run a new generation with more executions",
        )
    if reaches(difference, bar):
        return Decision(Word.SHIP, f"{shown}, and {_points(bar)} were registered; switch it on, and keep a control arm")
    return Decision(
        Word.BELOW_EFFECT,
        f"{shown}: beneficial, below the registered effect of {_points(bar)}; do not ship on this evidence, and do not"
        " revert; weigh its cost against so small a gain, and register a new generation with that effect and the number"
        " that it takes",
    )


def standing_of(word: Word, interval: Interval) -> HeldOutStanding:
    """What an interval from held-out data says of a decision that was made without them.

    Only data that exclude what the decision says contradict it: a difference below 0 for a loop that was found to
    help, one above 0 for one that was found not to.
    """
    above = interval.low is not None and interval.low > 0
    below = interval.high is not None and interval.high < 0
    for_it, against_it = (below, above) if word is Word.REVERT else (above, below)
    return "confirmed" if for_it else "contradicted" if against_it else "not_contradicted"


def after_held_out(first: Decision, standing: HeldOutStanding, interval: Interval) -> Decision:
    """The decision once the held-out data have been heard, which can only take it back."""
    if first.word is Word.MORE_DATA or standing != "contradicted":
        return first
    seen = f"held-out runs say the contrary {_ends(interval)}"
    if first.word is Word.REVERT:
        return Decision(
            Word.MORE_DATA, f"{first.reason}; but {seen}; leave the loop off until a new generation has settled it"
        )
    return Decision(Word.REVERT, f"{first.reason}; but {seen}: what was found does not hold; switch it off")


def _ends(interval: Interval) -> str:
    assert interval.low is not None
    assert interval.high is not None
    return f"({interval.level:.0%} interval {_points(interval.low)} to {_points(interval.high)})"


def _points(share: Number) -> str:
    return f"{100 * float(share):.1f} points"
