"""The gold set: claims whose right judgment is known, validated rule by rule before any judge is asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval_pipeline.canonical import content_hash
from eval_pipeline.errors import GoldRefused, MalformedGold, ManifestRefused
from eval_pipeline.jsonl import found, read_lines
from eval_pipeline.records import Alignment, Compliance
from eval_pipeline.studies.judge_calibration.rules import rule_in_manifest, scope_of

ALIGNMENT, CONSTRAINT = "alignment", "constraint"
PARTIAL = "PARTIAL"
NOT_VIOLATED_AT_LEAST = 3

_ID, _RULE, _MANIFEST = "constraint_under_test_id", "constraint_under_test_rule_text", "manifest_fixture_path"
_ANCHORS = ("page", "section", "quote", "paragraph", "none")
_FIELDS = frozenset(
    {
        "tuple_kind",
        "claim_text",
        "ref_text_excerpt",
        "anchor",
        "expected_judgment",
        "expected_prompt_verdict",
        "expected_sub_claims",
        _ID,
        _RULE,
        _MANIFEST,
        "metadata",
    }
)


@dataclass(frozen=True, slots=True)
class ExpectedSubClaim:
    """A part of a compound claim: words that tell it from the other parts, and the right verdict on it."""

    key_tokens: tuple[str, ...]
    verdict: Alignment


@dataclass(frozen=True, slots=True)
class Constraint:
    """The rule that a claim must keep to, and the family of its id: MNC for a manuscript, NC for one claim."""

    id: str
    rule: str
    scope: str


@dataclass(frozen=True, slots=True)
class GoldTuple:
    """A claim with its right judgment; `constraint` is None for a claim that is judged by its passage.

    `sub_claims` are those of a claim that its passage supports in part, and empty for any other.
    """

    index: int
    claim: str
    excerpt: str | None
    anchor_kind: str
    anchor_value: str
    expected: Alignment | Compliance
    sub_claims: tuple[ExpectedSubClaim, ...]
    constraint: Constraint | None
    metadata: Mapping[str, str]

    @property
    def partial(self) -> bool:
        """Whether the passage supports the claim in part."""
        return bool(self.sub_claims)


@dataclass(frozen=True, slots=True)
class GoldSet:
    """The tuples in their order, and the hash of all that stands in them."""

    tuples: tuple[GoldTuple, ...]
    hash: str

    @property
    def alignment(self) -> tuple[GoldTuple, ...]:
        """The tuples that are judged by their passage."""
        return tuple(item for item in self.tuples if item.constraint is None)

    @property
    def constraint(self) -> tuple[GoldTuple, ...]:
        """The tuples that are judged by a rule."""
        return tuple(item for item in self.tuples if item.constraint is not None)


def read_gold(path: Path) -> GoldSet:
    """The gold set of a JSON Lines file, or of all such files of a folder, in the order of their names.

    Raises:
        MalformedGold: a file cannot be read, or holds something else than objects.
        GoldRefused: a tuple breaks a rule; see `gold_of`.

    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise MalformedGold(f"gold set {str(path)!r}", ["found no file of JSON Lines, expected at least one"])
    rows: list[Mapping[str, Any]] = []
    places: list[str] = []
    for file in files:
        what = f"gold file {str(file)!r}"
        lines = read_lines(file, MalformedGold, what)
        if lines.faults:
            raise MalformedGold(what, list(lines.faults))
        rows += [line.fields for line in lines.lines]
        places += [f"{file.name} line {line.number}" for line in lines.lines]
    return gold_of(rows, folder=path if path.is_dir() else path.parent, places=places)


def gold_of(rows: Sequence[Mapping[str, Any]], *, folder: Path, places: Sequence[str] | None = None) -> GoldSet:
    """The gold set of rows, each checked by the rules in their order; the first one that is broken is told.

    For each tuple: (a) its kind; (b) of an alignment tuple the label, no field of a constraint, and (e) the sub-claims
    of a partial one; (c) of a constraint tuple the label, the id, and a rule or a manifest. Then (d) three tuples of
    NOT_VIOLATED or more. Then for each tuple (f) its fields and their types, (g) its sub-claims, (h) the shape of its
    constraint's id, (i) its rule in the manifest; and (j) that no tuple stands twice, or with another label.

    Args:
        rows: the objects of the file.
        folder: of the gold set; a manifest outside it is refused.
        places: where each row stands, for the message.
    Raises: GoldRefused: with the rule's letter and the tuple's index.

    """
    where = list(places or [""] * len(rows))
    for index, row in enumerate(rows):
        _require_kind_and_label(row, index, where[index])
    if (clean := sum(row.get("expected_judgment") == Compliance.NOT_VIOLATED for row in rows)) < NOT_VIOLATED_AT_LEAST:
        raise GoldRefused(
            "d", None, "", f"found {clean} tuples of NOT_VIOLATED, expected {NOT_VIOLATED_AT_LEAST} or more"
        )
    tuples = tuple(_tuple_of(row, index, where[index], folder) for index, row in enumerate(rows))
    _require_once(tuples, where)
    return GoldSet(tuples, content_hash([_plain(item) for item in tuples]))


def _require_kind_and_label(row: Mapping[str, Any], index: int, place: str) -> None:
    def broken(rule: str, what: str) -> GoldRefused:
        return GoldRefused(rule, index, place, what)

    kind, label = row.get("tuple_kind"), row.get("expected_judgment")
    if kind not in (ALIGNMENT, CONSTRAINT):
        raise broken("a", f"field 'tuple_kind': found {found(kind)}, expected {ALIGNMENT!r} or {CONSTRAINT!r}")
    if kind == ALIGNMENT:
        if label not in list(Alignment):
            raise broken("b", f"field 'expected_judgment': found {found(label)}, expected {_one_of(Alignment)}")
        for field in (_ID, _RULE, _MANIFEST):
            if field in row:
                raise broken("b", f"field {field!r}: found it on an alignment tuple, expected it on none; remove it")
        if row.get("expected_prompt_verdict") == PARTIAL and not row.get("expected_sub_claims"):
            raise broken("e", "field 'expected_sub_claims': found none on a partial fixture, expected its parts")
        return
    if label not in list(Compliance):
        raise broken("c", f"field 'expected_judgment': found {found(label)}, expected {_one_of(Compliance)}")
    if _ID not in row:
        raise broken("c", f"field {_ID!r}: found nothing, expected the id of the rule under test")
    if not row.get(_RULE) and not row.get(_MANIFEST):
        raise broken(
            "c", f"fields {_RULE!r} and {_MANIFEST!r}: found neither, expected the rule's text or its manifest"
        )


def _tuple_of(row: Mapping[str, Any], index: int, place: str, folder: Path) -> GoldTuple:
    def broken(rule: str, what: str) -> GoldRefused:
        return GoldRefused(rule, index, place, what)

    if unknown := sorted(set(row) - _FIELDS):
        raise broken("f", f"field {unknown[0]!r}: found a field that nothing reads; remove it")
    claim, excerpt, anchor = row.get("claim_text"), row.get("ref_text_excerpt"), row.get("anchor")
    if not isinstance(claim, str) or not claim.strip():
        raise broken("f", f"field 'claim_text': found {found(claim)}, expected a text")
    if excerpt is not None and not isinstance(excerpt, str):
        raise broken("f", f"field 'ref_text_excerpt': found {found(excerpt)}, expected a text or null")
    if not isinstance(anchor, dict) or anchor.get("kind") not in _ANCHORS or not isinstance(anchor.get("value"), str):
        shown = found(anchor if not isinstance(anchor, dict) else anchor.get("kind"))
        raise broken("f", f"field 'anchor': found {shown}, expected a kind of {', '.join(_ANCHORS)} and a value")
    metadata = row.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise broken("f", f"field 'metadata': found {found(metadata)}, expected texts by name")
    is_constraint = row["tuple_kind"] == CONSTRAINT
    return GoldTuple(
        index=index,
        claim=claim,
        excerpt=excerpt,
        anchor_kind=anchor["kind"],
        anchor_value=anchor["value"],
        expected=Compliance(row["expected_judgment"]) if is_constraint else Alignment(row["expected_judgment"]),
        sub_claims=_sub_claims(row, claim, broken),
        constraint=_constraint(row, folder, broken) if is_constraint else None,
        metadata=metadata,
    )


def _sub_claims(
    row: Mapping[str, Any], claim: str, broken: Callable[[str, str], GoldRefused]
) -> tuple[ExpectedSubClaim, ...]:
    """The parts of a partial fixture; what could never be matched, or never be a partial support, is refused."""
    verdict, parts = row.get("expected_prompt_verdict"), row.get("expected_sub_claims")
    if verdict not in (None, PARTIAL):
        raise broken("g", f"field 'expected_prompt_verdict': found {found(verdict)}, expected {PARTIAL!r} or nothing")
    if verdict is None:
        if parts:
            raise broken("g", f"field 'expected_sub_claims': found them without a verdict of {PARTIAL!r}; add it")
        return ()
    if row["expected_judgment"] != Alignment.UNSUPPORTED:
        label = found(row["expected_judgment"])
        raise broken("g", f"field 'expected_judgment': found {label} on a partial fixture, expected 'UNSUPPORTED'")
    expected = tuple(_sub_claim(part, broken) for part in parts) if isinstance(parts, list) else ()
    verdicts = {part.verdict for part in expected}
    if len(expected) < 2 or Alignment.SUPPORTED not in verdicts or len(verdicts) < 2:
        raise broken(
            "g",
            f"field 'expected_sub_claims': found {len(expected)} parts, expected two or more, SUPPORTED and not",
        )
    for part in expected:
        if missing := next((token for token in part.key_tokens if token.casefold() not in claim.casefold()), None):
            raise broken("g", f"field 'key_tokens': found {missing!r}, which the claim does not hold")
        if any(other is not part and _is_said_by(other, part) for other in expected):
            raise broken("g", f"field 'key_tokens': found {list(part.key_tokens)}, which another part has too")
    return expected


def _is_said_by(other: ExpectedSubClaim, part: ExpectedSubClaim) -> bool:
    """Whether all that holds the key words of `other` holds those of `part`, so that nothing could be `other` alone."""
    held = [token.casefold() for token in other.key_tokens]
    return all(any(token.casefold() in word for word in held) for token in part.key_tokens)


def _sub_claim(part: Any, broken: Callable[[str, str], GoldRefused]) -> ExpectedSubClaim:
    fields = part if isinstance(part, dict) else {}
    tokens, verdict = fields.get("key_tokens"), fields.get("sub_verdict")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(t, str) and t.strip() for t in tokens):
        raise broken("g", f"field 'key_tokens': found {found(tokens)}, expected a list of one or more texts")
    if verdict not in (Alignment.SUPPORTED, Alignment.UNSUPPORTED, Alignment.AMBIGUOUS):
        raise broken("g", f"field 'sub_verdict': found {found(verdict)}, expected SUPPORTED, UNSUPPORTED or AMBIGUOUS")
    return ExpectedSubClaim(tuple(tokens), Alignment(verdict))


def _constraint(row: Mapping[str, Any], folder: Path, broken: Callable[[str, str], GoldRefused]) -> Constraint:
    constraint_id, rule, manifest = row[_ID], row.get(_RULE), row.get(_MANIFEST)
    scope = scope_of(constraint_id)
    if scope is None:
        raise broken("h", f"field {_ID!r}: found {found(constraint_id)}, expected MNC-n or NC-Cnnn-m")
    if rule:
        if not isinstance(rule, str) or not rule.strip():
            raise broken("f", f"field {_RULE!r}: found {found(rule)}, expected a text")
        return Constraint(constraint_id, rule, scope)
    try:
        return Constraint(constraint_id, rule_in_manifest(folder, manifest, constraint_id), scope)
    except ManifestRefused as refused:
        raise broken("i", f"field {_MANIFEST!r}: {refused}") from None


def _require_once(tuples: Sequence[GoldTuple], places: Sequence[str]) -> None:
    seen: dict[tuple[str, str | None, str | None], GoldTuple] = {}
    for item in tuples:
        key = item.claim, item.excerpt, item.constraint.id if item.constraint else None
        first = seen.setdefault(key, item)
        if first is not item:
            what = "stands there too" if first.expected == item.expected else f"is {first.expected} there"
            raise GoldRefused("j", item.index, places[item.index], f"the same claim {what} (tuple {first.index})")


def _one_of(labels: type[Alignment] | type[Compliance]) -> str:
    return ", ".join(labels)


def _plain(item: GoldTuple) -> dict[str, Any]:
    """A tuple as JSON, rules of manifests included, for the hash."""
    return {
        "claim": item.claim,
        "excerpt": item.excerpt,
        "anchor": [item.anchor_kind, item.anchor_value],
        "expected": item.expected,
        "sub_claims": [[list(part.key_tokens), part.verdict] for part in item.sub_claims],
        "constraint": item.constraint and [item.constraint.id, item.constraint.rule],
        "metadata": dict(item.metadata),
    }
