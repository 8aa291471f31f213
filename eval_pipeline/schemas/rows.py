"""The JSON Schemas of rows that no model reads: a proposition, a gold tuple, a rating, an adjudication.

Each says what its reader enforces of a single row, and a test holds the two together. What is said of several rows,
such as that a proposition stands once, only the reader knows.
"""

from typing import Any

from eval_pipeline.human_check.sheet import Said
from eval_pipeline.records import Alignment, Compliance
from eval_pipeline.schemas.models import Schema, closed

_TEXT: Schema = {"type": "string", "pattern": r"\S"}
_NAME: Schema = {"anyOf": [_TEXT, {"type": "integer"}]}
_NUMBER: Schema = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\s*[-+]?(\d|\.\d|\d_)"}]}
_NOTHING: Schema = {"enum": [None, "", False, 0, [], {}]}  # what counts as not said
_ABSENT: Schema = {"not": {}}
_WORD = r"[^\u0000-/:-@\[-`{-\u00a9]"  # a letter or digit; beyond ASCII, whatever a reader may find in it
_PARTS = ("constraint_under_test_id", "constraint_under_test_rule_text", "manifest_fixture_path")

PROPOSITION: Schema = closed(
    {
        "title": "Proposition",
        "description": "An atomic claim of an entry, and the quarter of the text in which it stands.",
        "type": "object",
        "properties": {
            "entry_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
            "quartile": {"enum": [1, 2, 3, 4, "1", "2", "3", "4"]},
            "proposition": {"type": "string", "pattern": _WORD},
        },
    }
)


def _where(field: str, value: Any, then: Schema) -> Schema:
    """What must hold of a row whose field has a value."""
    return {"if": {"required": [field], "properties": {field: {"const": value}}}, "then": then}


_SUB_CLAIM: Schema = {
    "type": "object",
    "required": ["key_tokens", "sub_verdict"],
    "properties": {
        "key_tokens": {"type": "array", "minItems": 1, "items": _TEXT},
        "sub_verdict": {"enum": [Alignment.SUPPORTED, Alignment.UNSUPPORTED, Alignment.AMBIGUOUS]},
    },
}
_PARTIAL: Schema = {
    "required": ["expected_sub_claims"],
    "properties": {
        "expected_judgment": {"const": Alignment.UNSUPPORTED},
        "expected_sub_claims": {
            "type": "array",
            "minItems": 2,
            "items": _SUB_CLAIM,
            "allOf": [
                {"contains": {"properties": {"sub_verdict": {"const": Alignment.SUPPORTED}}}},
                {"contains": {"properties": {"sub_verdict": {"not": {"const": Alignment.SUPPORTED}}}}},
            ],
        },
    },
}
_OF_ALIGNMENT: Schema = {
    "properties": {"expected_judgment": {"enum": list(Alignment)}} | dict.fromkeys(_PARTS, _ABSENT),
}
_OF_CONSTRAINT: Schema = {
    "required": [_PARTS[0]],
    "properties": {"expected_judgment": {"enum": list(Compliance)}},
    "anyOf": [
        {"required": [_PARTS[1]], "properties": {_PARTS[1]: _TEXT}},
        {"required": [_PARTS[2]], "properties": {_PARTS[1]: _NOTHING, _PARTS[2]: {"type": "string", "minLength": 1}}},
    ],
}
GOLD_TUPLE: Schema = {
    "title": "Gold tuple",
    "description": "A claim whose right judgment is known, with the passage that it cites or the rule it must keep.",
    "type": "object",
    "additionalProperties": False,
    "required": ["tuple_kind", "claim_text", "anchor", "expected_judgment"],
    "properties": {
        "tuple_kind": {"enum": ["alignment", "constraint"]},
        "claim_text": _TEXT,
        "ref_text_excerpt": {"type": ["string", "null"]},
        "anchor": {
            "type": "object",
            "required": ["kind", "value"],
            "properties": {
                "kind": {"enum": ["page", "section", "quote", "paragraph", "none"]},
                "value": {"type": "string"},
            },
        },
        "expected_judgment": {"enum": [*Alignment, *Compliance]},
        "expected_prompt_verdict": {"enum": ["PARTIAL", None]},
        "expected_sub_claims": {"description": "Of a partial fixture alone: the parts of the claim."},
        _PARTS[0]: {"type": "string", "pattern": "^(MNC-[0-9]+|NC-C[0-9]{3,}-[0-9]+)$"},
        _PARTS[1]: {"description": "The rule, or nothing where a manifest holds it."},
        _PARTS[2]: {"description": "The manifest, a path within the folder of the gold set."},
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "allOf": [
        _where("tuple_kind", "alignment", _OF_ALIGNMENT),
        _where("tuple_kind", "constraint", _OF_CONSTRAINT),
        {
            "if": {
                "required": ["expected_prompt_verdict"],
                "properties": {"expected_prompt_verdict": {"const": "PARTIAL"}},
            },
            "then": _PARTIAL,
            "else": {"properties": {"expected_sub_claims": _NOTHING}},
        },
    ],
}

RATING: Schema = {
    "title": "Rating",
    "description": "Scores of one answer by one rater: one a row, with dimension and value, or all, a column for each.",
    "type": "object",
    "required": ["item_id", "rater_id"],
    "properties": {
        "item_id": _NAME,
        "system_id": _NAME,
        "system": _NAME,
        "rater_id": _NAME,
        "dimension": _TEXT,
        "value": _NUMBER,
        "batch": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "number"}, {"type": "null"}]},
        "order": {"anyOf": [_NUMBER, {"type": "null"}]},
        "duration_s": {"anyOf": [_NUMBER | {"not": {"type": "number", "exclusiveMaximum": 0}}, {"type": "null"}]},
        "failure_codes": {"type": ["array", "string", "null"], "items": {"type": "string"}},
        "rubric_version": {"type": ["string", "null"]},
        "source": {"enum": ["people", "simulated", None]},
    },
    "anyOf": [{"required": ["system_id"]}, {"required": ["system"]}],
    "dependentRequired": {"dimension": ["value"], "value": ["dimension"]},
}
ADJUDICATION: Schema = {
    "title": "Adjudication",
    "description": "A row of the worksheet; beside these a final score for each dimension, or none while it is open.",
    "type": "object",
    "required": ["item_id", "system_id"],
    "properties": {
        "item_id": {"type": ["string", "integer"]},
        "system_id": {"type": ["string", "integer"]},
        "rubric_gap": {
            "anyOf": [{"type": ["boolean", "null"]}, {"pattern": "^ *([Yy][Ee][Ss]|[Nn][Oo]|true|false) *$"}]
        },
        "reason": {"type": ["string", "null"]},
    },
}
FILLED: Schema = {
    "title": "Filled sheet",
    "description": "A row of a filled sheet of the human check, as its columns are named.",
    "type": "object",
    "required": ["sheet", "item", "label"],
    "properties": {
        "sheet": {"type": "string", "pattern": "^ *s[0-9a-f]{16} *$"},
        "item": {"type": "string", "pattern": "^ *i[0-9a-f]{16} *$"},
        "label": {"enum": list(Said)},
    },
}
