"""The formats by name, and the JSON Schema of each."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from eval_pipeline.corpus.folder import EntryLine, SignalLine
from eval_pipeline.errors import InputRefused
from eval_pipeline.human_check.join import FrozenCheck
from eval_pipeline.human_check.sheet import Sheet
from eval_pipeline.judge.offline import LabelLine
from eval_pipeline.provenance import Provenance
from eval_pipeline.schemas import rows
from eval_pipeline.schemas.documents import (
    calibration_report,
    extraction_verdict,
    imported_verdict,
    journal_line,
    ledger_line,
    lock,
    loop_verdict,
)
from eval_pipeline.schemas.models import Schema, schema_of
from eval_pipeline.studies.judge_reliability.oracles.grounding import GroundedClaim
from eval_pipeline.studies.label_signal.rubric import Rubric
from eval_pipeline.studies.label_signal.track import About, Item, Response
from eval_pipeline.studies.loops import STUDIES
from eval_pipeline.studies.plans import PLANS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_READ: Mapping[str, Any] = {
    "entry": EntryLine,
    "signal": SignalLine,
    "label": LabelLine,
    "sheet": Sheet,
    "human-check": FrozenCheck,
    "track": About,
    "rubric": Rubric,
    "item": Item,
    "response": Response,
    "grounded-claim": GroundedClaim,
    "provenance": Provenance,
    **{f"plan-{study}": plan for study, plan in PLANS.items()},
    **{f"observation-{study.name}": study.row for study in STUDIES},
}
_WRITTEN_OUT: Mapping[str, Schema] = {
    "proposition": rows.PROPOSITION,
    "gold-tuple": rows.GOLD_TUPLE,
    "rating": rows.RATING,
    "adjudication": rows.ADJUDICATION,
    "filled-sheet": rows.FILLED,
}
_BUILT: Mapping[str, Callable[[], Schema]] = {
    "verdict-extraction": extraction_verdict,
    "verdict-imported": imported_verdict,
    "report-judge-calibration": calibration_report,
    "verdict-closed-loop": partial(loop_verdict, tuple(study.name for study in STUDIES)),
    "ledger-line": ledger_line,
    "lock": lock,
    "journal-line": journal_line,
}
NAMES: tuple[str, ...] = tuple(sorted([*_READ, *_WRITTEN_OUT, *_BUILT]))


def schema_named(name: str) -> Schema:
    """The JSON Schema of a format.

    Raises: InputRefused: there is no format of that name.
    """
    if name not in NAMES:
        raise InputRefused(f"no format is called {name!r}; name one of {', '.join(NAMES)}")
    return {"$schema": _DIALECT, **_schema_named(name)}


def _schema_named(name: str) -> Schema:
    if name in _READ:
        return schema_of(_READ[name])
    return _WRITTEN_OUT[name] if name in _WRITTEN_OUT else _BUILT[name]()


def schema_text(name: str) -> str:
    """The schema as JSON text, with a line end.

    Raises: InputRefused: as in `schema_named`.
    """
    return json.dumps(schema_named(name), indent=2, ensure_ascii=False) + "\n"
