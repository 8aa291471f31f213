"""Two runs of one study: what is different in what they rest on, and which claims turned."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.recorded_run import RecordedClaim, RecordedRun


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that two runs rest on and that is not the same; None where a run does not name it."""

    what: str
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """What two runs say of a claim; None where a run does not make it."""

    claim: str
    first: RecordedClaim | None
    second: RecordedClaim | None

    @property
    def turned(self) -> bool:
        """Whether both make it, with another outcome."""
        return self.first is not None and self.second is not None and self.first.outcome is not self.second.outcome


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs of a study beside each other."""

    study: str
    changed: tuple[Difference, ...]
    claims: tuple[Pair, ...]

    def has_changed(self, what: str) -> bool:
        """Whether something of that name, or of a name that begins so, is different."""
        return any(one.what == what or one.what.startswith(f"{what} ") for one in self.changed)


def compared_runs(first: RecordedRun, second: RecordedRun) -> RunComparison:
    """What changed from the first to the second.

    Raises: InputRefused: they are of different studies.
    """
    if first.study != second.study:
        raise InputRefused(
            f"second: found a run of {second.study!r}, expected one of {first.study!r}, as the first is; name two runs"
            " of one study"
        )
    settings = dict.fromkeys([*first.settings, *second.settings])
    claims = dict.fromkeys([*first.claims, *second.claims])
    return RunComparison(
        study=first.study,
        changed=tuple(
            Difference(name, first.settings.get(name), second.settings.get(name))
            for name in settings
            if first.settings.get(name) != second.settings.get(name)
        ),
        claims=tuple(Pair(name, first.claims.get(name), second.claims.get(name)) for name in claims),
    )


def comparison_document(found: RunComparison) -> dict[str, Any]:
    """The comparison as plain values."""
    return {
        "study": found.study,
        "changed": [{"what": one.what, "first": one.first, "second": one.second} for one in found.changed],
        "claims": [
            {
                "claim": pair.claim,
                "turned": pair.turned,
                "first": _plain(pair.first),
                "second": _plain(pair.second),
            }
            for pair in found.claims
        ],
    }


def _plain(claim: RecordedClaim | None) -> Mapping[str, Any] | None:
    return claim.model_dump(mode="json", exclude={"claim", "detail"}) if claim else None
