"""A gold set is whole before a judge is asked: each rule, in its order, with the tuple that breaks it."""

import json
from collections import Counter

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.errors import GoldRefused, MalformedGold
from eval_pipeline.records import Alignment, Compliance
from eval_pipeline.studies.judge_calibration.gold import gold_of, read_gold
from tests.studies.judge_calibration.made_up import PARTS, ROOT, alignment_row, constraint_row

CLEAN = [constraint_row(f"Claim {number}.", "NOT_VIOLATED") for number in range(3)]
PARTIAL = {"expected_prompt_verdict": "PARTIAL", "expected_sub_claims": PARTS}
CLAIM = "Sales rose 12% and the staff doubled."


def partial_of(*parts):
    return alignment_row(CLAIM, "UNSUPPORTED", **PARTIAL | {"expected_sub_claims": list(parts)})


def without(field, row):
    return {name: value for name, value in row.items() if name != field}


@pytest.mark.parametrize(
    ("row", "rule", "what"),
    [
        (alignment_row("A.", "SUPPORTED", tuple_kind="other"), "a", "found \"other\", expected 'alignment' or"),
        (alignment_row("A.", "VIOLATED"), "b", "expected SUPPORTED, UNSUPPORTED"),
        (alignment_row("A.", "SUPPORTED", constraint_under_test_id=None), "b", "constraint_under_test_id"),
        (alignment_row("A.", "SUPPORTED", manifest_fixture_path=""), "b", "manifest_fixture_path"),
        (alignment_row(CLAIM, "UNSUPPORTED", expected_prompt_verdict="PARTIAL"), "e", "found none on a partial"),
        (constraint_row("A.", "SUPPORTED"), "c", "expected VIOLATED, NOT_VIOLATED"),
        (constraint_row("A.", "VIOLATED", constraint_under_test_rule_text=""), "c", "found neither"),
        (alignment_row("A.", "SUPPORTED", comment="?"), "f", "field 'comment': found a field that nothing reads"),
        (alignment_row("  ", "SUPPORTED"), "f", "field 'claim_text'"),
        (alignment_row("A.", "SUPPORTED", ref_text_excerpt=3), "f", "found 3, expected a text or null"),
        (alignment_row("A.", "SUPPORTED", anchor=None), "f", "field 'anchor': found null"),
        (alignment_row("A.", "SUPPORTED", anchor={"kind": "line", "value": "1"}), "f", 'found "line"'),
        (alignment_row("A.", "SUPPORTED", metadata={"year": 3}), "f", "field 'metadata'"),
        (alignment_row(CLAIM, "AMBIGUOUS", **PARTIAL), "g", "expected 'UNSUPPORTED'"),
        (alignment_row(CLAIM, "UNSUPPORTED", expected_sub_claims=PARTS), "g", "without a verdict"),
        (alignment_row(CLAIM, "UNSUPPORTED", **PARTIAL | {"expected_sub_claims": PARTS[:1]}), "g", "found 1 parts"),
        (alignment_row("Sales rose.", "UNSUPPORTED", **PARTIAL), "g", "found '12%', which the claim does not hold"),
        (
            alignment_row(
                CLAIM,
                "UNSUPPORTED",
                **PARTIAL | {"expected_sub_claims": [PARTS[0], PARTS[1] | {"key_tokens": ["rose"]}]},
            ),
            "g",
            "which another part has too",
        ),
        (partial_of(PARTS[0] | {"key_tokens": ["ROSE"]}, PARTS[1] | {"key_tokens": ["rose", "staff"]}), "g", "has too"),
        (partial_of(PARTS[0] | {"key_tokens": ["12"]}, PARTS[1] | {"key_tokens": ["12%", "staff"]}), "g", "has too"),
        (partial_of(PARTS[0], PARTS[1] | {"key_tokens": []}), "g", "a list of one or more texts"),
        (partial_of(PARTS[0], "the staff"), "g", "field 'key_tokens': found null"),
        (partial_of(PARTS[0], PARTS[1] | {"sub_verdict": "RETRIEVAL_FAILED"}), "g", "field 'sub_verdict'"),
        (partial_of(PARTS[0], PARTS[1] | {"sub_verdict": "SUPPORTED"}), "g", "SUPPORTED and not"),
        (alignment_row(CLAIM, "UNSUPPORTED", **PARTIAL | {"expected_prompt_verdict": "partial"}), "g", "or nothing"),
        (alignment_row(CLAIM, "UNSUPPORTED", **PARTIAL | {"expected_sub_claims": "parts"}), "g", "found 0 parts"),
        (constraint_row("A.", "VIOLATED", constraint_under_test_rule_text="  "), "f", "expected a text"),
        (constraint_row("A.", "VIOLATED", constraint_under_test_rule_text=["r"]), "f", "expected a text"),
        (without("constraint_under_test_id", constraint_row("A.", "VIOLATED")), "c", "expected the id of the rule"),
        (without("claim_text", constraint_row("A.", "VIOLATED")), "f", "field 'claim_text': found null"),
        (constraint_row("A.", "VIOLATED", constraint_under_test_id="MNC-1\n"), "h", "expected MNC-n or NC-Cnnn-m"),
        (constraint_row("A.", "VIOLATED", constraint_under_test_id=7), "h", "found 7, expected MNC-n"),
    ],
)
def test_a_tuple_that_breaks_a_rule_is_named_with_the_rule(row, rule, what):
    with pytest.raises(GoldRefused) as refusal:
        gold_of([*CLEAN, row], folder=ROOT, places=["x"] * 3 + ["mine.jsonl line 4"])
    assert (refusal.value.rule, refusal.value.index) == (rule, 3)
    assert str(refusal.value).startswith(f"gold tuple 3 (mine.jsonl line 4) breaks rule ({rule}): ")
    assert what in str(refusal.value)


def test_the_first_broken_rule_is_told_and_kinds_and_labels_come_before_all_else():
    rows = [alignment_row(" ", "SUPPORTED"), alignment_row("B.", "VIOLATED"), *CLEAN]
    with pytest.raises(GoldRefused) as refusal:
        gold_of(rows, folder=ROOT)
    assert (refusal.value.rule, refusal.value.index) == ("b", 1)
    with pytest.raises(GoldRefused, match=r"the gold set breaks rule \(d\): found 2 tuples of NOT_VIOLATED"):
        gold_of([alignment_row(" ", "SUPPORTED"), *CLEAN[:2]], folder=ROOT)


def test_of_two_rules_that_one_tuple_breaks_the_first_is_told():
    no_label_and_an_id = alignment_row("A.", "MAYBE", constraint_under_test_id="MNC-1")
    no_kind_either = no_label_and_an_id | {"tuple_kind": None}
    a_field_and_no_parts = alignment_row(
        "A.", "UNSUPPORTED", expected_prompt_verdict="PARTIAL", constraint_under_test_rule_text=None
    )
    neither_label_nor_id = without("constraint_under_test_id", constraint_row("A.", "SUPPORTED"))
    bad_id_and_no_such_manifest = by_manifest("absent.json") | {"constraint_under_test_id": "MNC-"}
    for row, rule, field in (
        (no_kind_either, "a", "tuple_kind"),
        (no_label_and_an_id, "b", "expected_judgment"),
        (a_field_and_no_parts, "b", "constraint_under_test_rule_text"),
        (neither_label_nor_id, "c", "expected_judgment"),
        (bad_id_and_no_such_manifest, "h", "constraint_under_test_id"),
    ):
        with pytest.raises(GoldRefused, match=f"^gold tuple 3 breaks rule \\({rule}\\): field '{field}'"):
            gold_of([*CLEAN, row], folder=ROOT)


@pytest.mark.parametrize(("label", "what"), [("NOT_VIOLATED", "stands there too"), ("VIOLATED", "NOT_VIOLATED there")])
def test_a_claim_that_stands_twice_is_refused(label, what):
    with pytest.raises(GoldRefused, match=what) as refusal:
        gold_of([*CLEAN, constraint_row("Claim 1.", label)], folder=ROOT)
    assert (refusal.value.rule, refusal.value.index) == ("j", 3)
    other_rule = constraint_row("Claim 1.", label, constraint_under_test_id="NC-C001-2")
    assert len(gold_of([*CLEAN, other_rule], folder=ROOT).tuples) == 4


def by_manifest(path: str) -> dict:
    row = constraint_row("D.", "VIOLATED", manifest_fixture_path=path)
    del row["constraint_under_test_rule_text"]
    return row


def test_a_rule_is_looked_up_by_its_id_in_a_manifest_within_the_folder(tmp_path):
    rules = [{"constraint_id": "MNC-1", "rule": "One."}, {"constraint_id": "MNC-11", "rule": "Eleven."}]
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "m.json").write_text(json.dumps({"rules": rules}))
    found = gold_of([*CLEAN, by_manifest("m.json")], folder=tmp_path / "gold").tuples[-1].constraint
    assert (found.id, found.rule, found.scope) == ("MNC-1", "One.", "MNC")


@pytest.mark.parametrize(
    ("path", "content", "what"),
    [
        ("../outside.json", None, "leads out of the gold set's folder"),
        ("/etc/hosts", None, "leads out of the gold set's folder"),
        ("link.json", None, "leads out of the gold set's folder"),
        ("absent.json", None, "cannot be read"),
        ("m.json", "[]", "which is no object"),
        ("m.json", '{"rules": [{"constraint_id": "MNC-2", "rule": "Two."}]}', "holds rule 'MNC-1' 0 times"),
        ("m.json", json.dumps({"rules": [{"constraint_id": "MNC-1", "rule": "1"}] * 2}), "holds rule 'MNC-1' 2 times"),
        ("m.json", '{"rules": [{"constraint_id": "MNC-1", "rule": null}]}', "holds rule 'MNC-1' without a text"),
        ("m.json", '{"rules": [{"constraint_id": "MNC-1", "rule": " "}]}', "holds rule 'MNC-1' without a text"),
        ("m.json", '{"rules": [{"constraint_id": "MNC-1", "rule": "\\ud800"}]}', "which is no object"),
        ("nul\0.json", None, "the path of no file"),
        ("circle", None, "the path of no file|cannot be read"),
        (".", None, "cannot be read"),
    ],
)
def test_a_manifest_that_gives_no_one_rule_is_refused(tmp_path, path, content, what):
    folder = tmp_path / "gold"
    folder.mkdir()
    (tmp_path / "outside.json").write_text('{"rules": [{"constraint_id": "MNC-1", "rule": "Out."}]}')
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    (folder / "circle").symlink_to(folder / "circle")
    if content:
        (folder / path).write_text(content)
    with pytest.raises(GoldRefused, match=what) as refusal:
        gold_of([*CLEAN, by_manifest(path)], folder=folder)
    assert refusal.value.rule == "i"


def test_the_hash_is_that_of_all_that_a_judge_is_measured_by(tmp_path):
    """One letter of a claim, of a passage or of a manifest's rule makes another set; the name of its file does not."""
    manifest = tmp_path / "m.json"
    manifest.write_text('{"rules": [{"constraint_id": "MNC-1", "rule": "One."}]}')
    rows = [*CLEAN, alignment_row("A.", "SUPPORTED"), by_manifest("m.json")]
    first = gold_of(rows, folder=tmp_path).hash
    assert gold_of(rows, folder=tmp_path, places=["elsewhere"] * 5).hash == first
    changed = [
        {"claim_text": "B."},
        {"ref_text_excerpt": "A passage!"},
        {"anchor": {"kind": "page", "value": "4"}},
        {"expected_judgment": "AMBIGUOUS"},
        {"metadata": {"domain": "law"}},
    ]
    others = {gold_of([*CLEAN, rows[3] | change, rows[4]], folder=tmp_path).hash for change in changed}
    manifest.write_text('{"rules": [{"constraint_id": "MNC-1", "rule": "One!"}]}')
    others.add(gold_of(rows, folder=tmp_path).hash)
    assert len(others - {first}) == 6


def test_the_index_runs_on_over_the_files_and_the_place_names_file_and_line(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CLEAN))
    (tmp_path / "b.jsonl").write_text("\n" + json.dumps(alignment_row("A.", "MAYBE")) + "\n")
    with pytest.raises(GoldRefused, match=r"^gold tuple 3 \(b\.jsonl line 2\) breaks rule \(b\): "):
        read_gold(tmp_path)


def test_files_of_a_folder_are_read_in_the_order_of_their_names_and_faults_name_file_and_line(tmp_path):
    with pytest.raises(MalformedGold, match="found no file of JSON Lines"):
        read_gold(tmp_path)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CLEAN))
    (tmp_path / "a.jsonl").write_text(json.dumps(alignment_row("A.", "SUPPORTED")) + "\n")
    gold = read_gold(tmp_path)
    assert [item.claim for item in gold.tuples] == ["A.", "Claim 0.", "Claim 1.", "Claim 2."]
    (tmp_path / "a.jsonl").write_text(json.dumps(alignment_row("B.", "SUPPORTED")) + "\n")
    assert read_gold(tmp_path).hash != gold.hash
    (tmp_path / "a.jsonl").write_text('{"tuple_kind": "alignment"\n')
    with pytest.raises(MalformedGold, match="line 1, column"):
        read_gold(tmp_path)


def test_the_bundled_set_is_large_balanced_and_spread():
    gold = read_gold(bundled("gold"))
    labels = Counter(item.expected for item in gold.tuples)
    assert (len(gold.alignment), len(gold.constraint)) == (132, 64)
    assert sum(item.partial for item in gold.tuples) >= 20
    assert min(labels[label] for label in Alignment) >= 12
    assert min(labels[label] for label in Compliance) >= 25
    assert {item.constraint.scope for item in gold.constraint} == {"MNC", "NC"}
    domains = Counter(item.metadata["domain"] for item in gold.tuples)
    assert len(domains) >= 12
    assert max(domains.values()) <= len(gold.tuples) / 8
