"""What a closed loop gives to be run: how its log is read, what it finds in it, and what held-out data say of that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from eval_pipeline.history import Anytime
from eval_pipeline.loop import LoopPlan
from eval_pipeline.observations import Log, Observation

P = TypeVar("P", bound=LoopPlan)
O = TypeVar("O", bound=Observation)  # noqa: E741
F = TypeVar("F")
H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class LoopStudy(Generic[P, O, F, H]):
    """A closed loop, from its log to its document.

    `unit` names what an observation is held out with, such as its run; `stratum` what such units are drawn by, None
    where all are alike. `findings` are of the calibration part alone; `held_out` of the rest, once it was given out, or
    None where the plan holds nothing out. `document` holds claims, findings, constants and charts as plain values;
    `claims` says of each claim that may stand in it what it means, in one sentence. `require` raises where a log cannot
    be of the plan; the whole log is held against it before anything is sealed or used. `anytime` gives, of a document,
    the claims that have an interval at any level; None where no claim has one.
    """

    name: str
    plan: type[P]
    row: type[O]
    claims: Mapping[str, str]
    read: Callable[[Path], Log[O]]
    generate: Callable[[P], Log[O]]
    unit: Callable[[O], str]
    stratum: Callable[[O], str] | None
    findings: Callable[[Log[O], P], F]
    findings_type: Any
    held_out: Callable[[F, Log[O], P], H]
    held_out_type: Any
    document: Callable[[F, H | None, P], dict[str, Any]]
    require: Callable[[Log[O], P], object] | None = None
    anytime: Callable[[Mapping[str, Any], P], Anytime] | None = None
