"""The check: what one or two people said of a sheet, how far they agree, and all of it frozen under a hash."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import CheckUnsettled, SealBroken, Undefined
from eval_pipeline.evidence import json_bytes
from eval_pipeline.human_check.filled import Filled
from eval_pipeline.human_check.sheet import Item, Rule, Said, Sheet, read_record
from eval_pipeline.records import Interval, Reason, Refusal
from eval_pipeline.stats.agreement import Agreement, agreement_interval
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.kappa import cohen_kappa
from eval_pipeline.stats.scalars import reaches

_CATEGORIES = tuple(Said)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement with its interval, whole premises drawn again; or why it is undefined."""

    estimate: float | None
    interval: Interval | None
    undefined: str | None


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """How two people agree before anything is settled: on how many of how many items, and beyond chance."""

    items: int
    same: int
    kappa: Coefficient
    alpha: Coefficient


@dataclass(frozen=True, slots=True)
class HumanCheck:
    """The sheet as it was drawn, and its settled labels by item; what people were unsure of has none.

    `agreement` is None where one person labelled. `settled` counts the items on which two said different things.
    """

    sheet: Sheet
    raters: tuple[str, ...]
    labels: Mapping[str, Said]
    agreement: RaterAgreement | None
    settled: int

    @property
    def hash(self) -> str:
        """The sha256 of all of it."""
        return content_hash(asdict(self))

    @property
    def unsure(self) -> int:
        """How many items have no label."""
        return sum(said is Said.UNSURE for said in self.labels.values())

    def refusal(self, *, raters: int, kappa_at_least: Fraction, unsure_at_most: Fraction) -> Refusal | None:
        """Why nothing may rest on the check under these rules, if so."""
        if len(self.raters) < raters:
            return Refusal(
                Reason.UNDERPOWERED,
                f"{len(self.raters)} person filled the human check and the plan asks for {raters}; have it filled by"
                " another",
            )
        kappa = self.agreement.kappa if self.agreement else None
        if kappa and kappa.estimate is not None and not reaches(kappa.estimate, kappa_at_least):
            return Refusal(
                Reason.RATERS_DISAGREE,
                f"the people of the human check agree with a kappa of {kappa.estimate:.3f}, and the plan asks for"
                f" {float(kappa_at_least):g}; make the question clearer, and have it filled anew",
            )
        if self.unsure > unsure_at_most * len(self.labels):
            return Refusal(
                Reason.UNTRUSTWORTHY,
                f"{self.unsure} of {len(self.labels)} items of the human check have no label, and the plan allows"
                f" {float(unsure_at_most):g} of them; have them settled",
            )
        return None


@dataclass(frozen=True, slots=True)
class FrozenCheck:
    """A check on disk, with its hash."""

    check: HumanCheck
    hash: str


def disagreements(people: Sequence[Filled], items: Sequence[Item]) -> list[Item]:
    """The items of which not all say the same, in their order."""
    return [item for item in items if len({one.labels[item.id] for one in people}) > 1]


def joined(sheet: Sheet, people: Sequence[Filled], settled: Filled | None) -> HumanCheck:
    """One check of what one or two people said; where they differ, what was settled stands.

    Raises: CheckUnsettled: they differ, and nothing was settled.
    """
    apart = disagreements(people, sheet.items)
    if apart and settled is None:
        raise CheckUnsettled(
            f"{len(apart)} of {len(sheet.items)} items are labelled differently; have somebody settle them on the sheet"
            " of disagreements, and join again with --settled"
        )
    labels = {item.id: people[0].labels[item.id] for item in sheet.items}
    if apart and settled:
        labels |= {item.id: settled.labels[item.id] for item in apart}
    return HumanCheck(
        sheet=sheet,
        raters=tuple(one.rater for one in people),
        labels=labels,
        agreement=agreement_of(people, sheet.items, sheet.rule) if len(people) == 2 else None,
        settled=len(apart),
    )


def agreement_of(people: Sequence[Filled], items: Sequence[Item], rule: Rule) -> RaterAgreement:
    """How two people agree, unsure being an answer like the others."""
    table = np.array([[one.labels[item.id].value for one in people] for item in items], dtype=object)
    table = table.reshape(len(items), len(people))  # of no items too
    premises = [content_hash(item.premise) for item in items]

    def coefficient(of: Callable[[], Agreement]) -> Coefficient:
        try:
            found = of()
        except Undefined as undefined:
            return Coefficient(None, None, str(undefined))
        try:
            drawn = agreement_interval(
                found,
                premises,
                level=Fraction(rule.level),
                resamples=rule.resamples,
                valid_at_least=ceil(rule.resamples / 2),
                ranks="symmetric",
                rng=np.random.default_rng(rule.seed),
            )
        except Undefined:
            return Coefficient(found.estimate, None, None)
        return Coefficient(found.estimate, drawn.interval, None)

    values = tuple(said.value for said in _CATEGORIES)
    return RaterAgreement(
        items=len(items),
        same=int((table[:, 0] == table[:, 1]).sum()),
        kappa=coefficient(lambda: cohen_kappa(table, weights="none", categories=values).agreement),
        alpha=coefficient(lambda: krippendorff_alpha(table, scale="nominal", categories=values)),
    )


def check_bytes(check: HumanCheck) -> bytes:
    """The check as JSON, with its hash."""
    return json_bytes(FrozenCheck(check, check.hash), FrozenCheck)


def read_check(path: Path) -> HumanCheck:
    """The check that `check_bytes` wrote.

    Raises:
        MalformedCheck: it cannot be read, or is no check.
        SealBroken: it is not what was frozen.

    """
    frozen: FrozenCheck = read_record(path, FrozenCheck, "human check")
    check = replace(frozen.check, labels={item: Said(said) for item, said in frozen.check.labels.items()})
    try:
        now = check.hash
    except (TypeError, ValueError):  # what stands for a number in it is none, or not finite
        now = "nothing"
    if now != frozen.hash:
        raise SealBroken(
            f"human check {str(path)!r} was frozen as {frozen.hash[:12]} but now hashes to {now[:12]};"
            " join the filled sheets again"
        )
    return check
