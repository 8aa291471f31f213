"""A calibration as its report.json holds it, as far as another calibration can be held against it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.evidence import first_fault
from eval_pipeline.records import Alignment, Compliance, Outcome, Reason

REPORT = "report.json"
_NAME_IT = "name the findings folder of one, or its report.json"


class _Recorded(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class TupleOutcome(_Recorded):
    """What became of a tuple: the right label, and the one that was given, None where the judge gave none."""

    index: int
    expected: Alignment | Compliance
    answered: Alignment | Compliance | None

    @property
    def right(self) -> bool:
        """Whether the label is the expected one."""
        return self.answered == self.expected

    @property
    def kind(self) -> Literal["alignment", "constraint"]:
        """Whether a passage decides it, or a rule."""
        return "constraint" if isinstance(self.expected, Compliance) else "alignment"


class RecordedJudge(_Recorded):
    """Who was measured: what the command line calls it, and its fingerprint under each prompt."""

    kind: str
    fingerprints: dict[str, str]


class Hashes(_Recorded):
    """What the numbers rest on."""

    gold: str
    plan: str


class Levels(_Recorded):
    """The coverage of its two-sided intervals."""

    intervals: Annotated[float, Field(gt=0, lt=1)]


class RecordedClaim(_Recorded):
    """The verdict on a claim, as far as it says whether anything was measured."""

    outcome: Outcome
    reason: Reason | None
    detail: str


class Calibration(_Recorded):
    """A calibration as its report.json holds it, as far as a comparison reads it."""

    study: Literal["judge-calibration"]
    plan: str
    judge: RecordedJudge
    hashes: Hashes
    levels: Levels
    claims: Annotated[tuple[RecordedClaim, ...], Field(min_length=1)]
    tuples: tuple[TupleOutcome, ...]


def read_calibration(path: Path) -> Calibration:
    """The calibration of a findings folder, or of its report.json.

    Raises: EvidenceRefused: it is no report of a calibration, or of one whose every claim was withheld.
    """
    file = path / REPORT if path.is_dir() else path
    try:
        found = Calibration.model_validate_json(file.read_bytes())
    except OSError as error:
        raise EvidenceRefused(f"calibration {str(file)!r} cannot be read ({error.strerror}); {_NAME_IT}") from None
    except ValidationError as error:
        raise EvidenceRefused(
            f"{str(file)!r} is no report of a judge's calibration ({first_fault(error)}); {_NAME_IT}"
        ) from None
    if all(claim.outcome is Outcome.SKIP for claim in found.claims):
        withheld = found.claims[0]
        raise EvidenceRefused(
            f"calibration {str(file)!r} was withheld ({withheld.reason}: {withheld.detail}), so that there is nothing"
            " to compare"
        )
    return found
