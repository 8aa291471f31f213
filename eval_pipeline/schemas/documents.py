"""The JSON Schemas of what a run writes down: the verdict's document, a line of the ledger, a line of a journal.

A document holds more than is said here, which its study adds; what stands here is in every one of its kind.
"""

from eval_pipeline.heldout import Lock
from eval_pipeline.judge.journal import Head, Record
from eval_pipeline.ledger import Line
from eval_pipeline.records import Outcome, Reason
from eval_pipeline.schemas.models import Schema, closed, schema_of

_HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_MAYBE_HASH: Schema = {"anyOf": [_HASH, {"type": "null"}]}
_MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
_MAYBE_COUNT: Schema = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}

CLAIM: Schema = {
    "title": "Claim",
    "description": "What the gate says of one claim, and on what evidence; a number that may not be stated is null.",
    "type": "object",
    "properties": {
        "claim": {"type": "string", "minLength": 1},
        "outcome": {"enum": list(Outcome)},
        "reason": {"enum": [*Reason, None]},
        "detail": {"type": "string", "minLength": 1},
        "estimate": _MAYBE_NUMBER,
        "numerator": _MAYBE_COUNT,
        "denominator": _MAYBE_COUNT,
        "interval": {
            "anyOf": [{"type": "null"}, {"type": "array", "minItems": 2, "maxItems": 2, "items": _MAYBE_NUMBER}]
        },
        "threshold": _MAYBE_NUMBER,
        "advisory": {"type": "boolean"},
    },
    "required": "claim outcome reason detail estimate numerator denominator interval threshold advisory".split(),
    "allOf": [
        {
            "if": {"properties": {"outcome": {"enum": [Outcome.WARN, Outcome.FAIL, Outcome.SKIP]}}},
            "then": {"properties": {"reason": {"type": "string"}}},
        },
    ],
}


def _document(title: str, description: str, study: Schema, hashes: Schema, **more: Schema) -> Schema:
    properties = {
        "study": study,
        "plan": {"type": "string", "minLength": 1},
        "claims": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Claim"}},
        "hashes": {"type": "object", "required": list(hashes), "properties": hashes},
        "versions": {"type": "object", "additionalProperties": {"type": "string"}},
        **more,
    }
    return {
        "title": title,
        "description": description,
        "$defs": {"Claim": CLAIM},
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


_QUARTILE: Schema = {
    "type": "object",
    "required": ["quartile", "hits", "judged", "undecided", "estimate", "interval"],
    "properties": {"quartile": {"enum": [1, 2, 3, 4]}, "hits": _MAYBE_COUNT, "estimate": _MAYBE_NUMBER},
}


def extraction_verdict() -> Schema:
    """verdict.json of the extraction study."""
    return _document(
        "Extraction verdict",
        "What the extraction study concluded, byte for byte the same for the same evidence.",
        {"const": "extraction"},
        {"corpus": _MAYBE_HASH, "fixture": _MAYBE_HASH, "plan": _HASH, "human_check": _MAYBE_HASH},
        quartiles={"type": "array", "minItems": 4, "maxItems": 4, "items": _QUARTILE},
        findings={"type": "object", "required": ["recall", "uniformity", "guard", "judge", "correction"]},
        frame={"type": "object"},
        judgments={"type": "object", "additionalProperties": {"type": "object"}},
        refusals={"type": "object", "required": ["corpus", "fixture", "judge"]},
        judge={"type": "object", "required": ["kind", "standing", "fingerprint", "identity"]},
    )


def calibration_report() -> Schema:
    """report.json of a judge's calibration."""
    counts: dict[str, Schema] = {name: {"type": "integer"} for name in ("n_total", "n_alignment", "n_constraint")}
    return _document(
        "Calibration report",
        "How often a judge is wrong on a gold set.",
        {"const": "judge-calibration"},
        {"gold": _HASH, "plan": _HASH},
        FNR=_MAYBE_NUMBER,
        FPR=_MAYBE_NUMBER,
        per_class={"type": "object"},
        partial_support={"type": "object", "required": ["miss_rate", "n_partial"]},
        thresholds={"type": "object", "required": ["FNR", "FPR"]},
        tuples={"type": "array"},
        judge={"type": "object", "required": ["kind", "fingerprints"]},
        **counts,
    )


def loop_verdict(studies: tuple[str, ...]) -> Schema:
    """verdict.json of a closed loop."""
    return _document(
        "Verdict of a closed loop",
        "What a closed loop found, what it decided and what held-out data say of it.",
        {"enum": list(studies)},
        {"plan": _HASH, "observations": _HASH, "partition": _MAYBE_HASH},
        generation={"type": "string", "minLength": 1},
        simulated={"type": "boolean"},
        decision={"type": "object", "required": ["word", "reason"]},
        findings={"type": ["object", "null"]},
        held_out={"type": ["object", "null"]},
        constants={"type": "array"},
        charts={"type": "array"},
        settled={"type": "array"},
    )


def imported_verdict() -> Schema:
    """verdict.json of an imported log; without bars in the plan each claim is a skip."""
    rows: Schema = {"type": "array", "items": {"type": "object"}}
    return _document(
        "Verdict on an imported log",
        "What the log of another tool comes to: its means with intervals, and the gates of the plan.",
        {"const": "imported"},
        {"results": _HASH, "plan": _HASH},
        claims={"type": "array", "items": {"$ref": "#/$defs/Claim"}},
        tool={"type": "string", "minLength": 1},
        estimates=rows,
        differences=rows,
        stated=rows,
        undecided=rows,
        sources={"type": "array"},
    )


def ledger_line() -> Schema:
    """A line of the ledger, with the hash of the line before it and its own."""
    line = closed(schema_of(Line))
    own = {"number": {"type": "integer", "minimum": 1}, "previous": _HASH, "hash": _HASH}
    return line | {"properties": line["properties"] | own}


def lock() -> Schema:
    """The lock of a held-out partition, of either version."""
    found = schema_of(Lock)
    return {"title": "Lock", "description": "The lock of a held-out partition."} | found


def journal_line() -> Schema:
    """A line of a journal: its head, a judgment, or a proposition that no judge was asked about."""
    of_run, of_judgment = schema_of(Head), schema_of(Record)
    definitions = of_run.pop("$defs", {}) | of_judgment.pop("$defs", {})
    unasked: Schema = {"type": "object", "required": ["key"], "properties": {"key": {"type": "null"}}}
    return {
        "title": "Journal line",
        "description": "The head of a run, a judgment, or with a null key a proposition that no judge was asked about.",
        "$defs": definitions | {"Head": of_run, "Judgment": of_judgment, "Unasked": unasked},
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in ("Head", "Judgment", "Unasked")],
    }
