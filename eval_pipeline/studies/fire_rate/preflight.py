"""The injection before anything is read: a mismatch that is put in on purpose must be counted, or nothing is."""

from collections.abc import Mapping

from pydantic import ValidationError

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.jsonl import found
from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.fire_rate.events import KINDS, MismatchKind
from eval_pipeline.studies.fire_rate.observations import Run

# As the pipeline is known to write them: spelled out, so that they do not change with what reads them.
AS_WRITTEN: Mapping[MismatchKind, str] = {
    "content_mutation": "[self_check] plan mismatch detected — mismatch_kind:content_mutation",
    "ordering_regression": "[self_check] plan mismatch detected — mismatch_kind:ordering_regression",
}


def require_counted(injected: Mapping[MismatchKind, str]) -> tuple[MismatchKind, ...]:
    """The kinds whose injected event was counted: all of them.

    Each event goes the way of a real one, as a line of a log, in a run that reports it twice beside another error; it
    must be counted once, as its own kind.

    Args: injected: of each kind, the text that the pipeline writes.
    Raises: EvidenceRefused: an event was not counted, so that a log without events would say nothing.
    """
    for kind in KINDS:
        text = injected[kind]
        if (counted := _counted(text)) != {kind}:
            as_what = f"counted as {', '.join(sorted(counted))}" if counted else "not counted"
            raise EvidenceRefused(
                f"injected event of kind {kind!r}: found {found(text)} {as_what}, expected it counted as {kind};"
                " nothing is read until the text is as the pipeline writes it and the study counts it"
            )
    return KINDS


def _counted(text: str) -> frozenset[str]:
    row = Run.model_construct(
        run_id="injected", sequence=1, context="feature", errors=("[validator] a section is short", text, text)
    )
    try:
        return Run.model_validate_json(log_bytes([row])).kinds
    except ValidationError:
        return frozenset()
