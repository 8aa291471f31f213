"""The claims that come with the house: the oracles confirm the truth that is expected of each."""

import json
from collections import Counter

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.errors import MalformedObservations
from eval_pipeline.studies.judge_reliability.oracles.code import Tools, installed_tools
from eval_pipeline.studies.judge_reliability.oracles.grounding import answers, drift, read_claims
from eval_pipeline.studies.judge_reliability.words import Grounding, Truth

CLAIMS = bundled("claims/claims.jsonl")
TYPESCRIPT = "typescript"


@pytest.fixture(scope="module")
def claims():
    return read_claims(CLAIMS)


def language(claim):
    return claim.content.get("language")


def test_there_are_sixty_or_more_of_all_kinds_and_of_either_truth(claims):
    oracles = Counter(claim.oracle for claim in claims)
    assert sum(oracles.values()) >= 60
    assert set(oracles) == {Grounding.SCHEMA, Grounding.MATH, Grounding.CODE, Grounding.SPEC}
    for oracle in oracles:
        assert {claim.expected_truth for claim in claims if claim.oracle is oracle} == set(Truth)
    assert len({claim.statement for claim in claims}) == len(claims)


def test_the_oracles_confirm_each_truth(claims, plan):
    tools = installed_tools()
    found = answers(claims, tools=tools, tolerance=plan.oracles.tolerance, timeout_s=plan.oracles.timeout_s)
    seen = drift(claims, found)
    assert seen.drifted == ()
    without = [] if tools.typescript else [claim.claim_id for claim in claims if language(claim) == TYPESCRIPT]
    assert list(seen.untold) == without
    assert seen.confirmed == len(claims) - len(without) >= 60


@pytest.mark.skipif(installed_tools().typescript is None, reason="tsc is not installed, and TypeScript needs it")
def test_the_compiler_confirms_the_claims_about_typescript(claims, plan):
    asked = [claim for claim in claims if language(claim) == TYPESCRIPT]
    found = answers(asked, tools=installed_tools(), tolerance=plan.oracles.tolerance, timeout_s=60)
    assert drift(asked, found).confirmed == len(asked) > 0


def test_a_claim_that_drifted_is_named_and_an_oracle_that_cannot_tell_is_told_of_once(claims, plan):
    asked = [claim for claim in claims if claim.oracle in (Grounding.MATH, Grounding.CODE)]
    turned = asked[0].model_copy(
        update={"expected_truth": Truth.HOLDS if asked[0].expected_truth is Truth.FAILS else Truth.FAILS}
    )
    asked = [turned, *asked[1:]]
    found = answers(asked, tools=Tools(None, None), tolerance=plan.oracles.tolerance, timeout_s=60)
    seen = drift(asked, found)
    assert seen.drifted == (turned.claim_id,)
    assert set(seen.unavailable) == {"code"}
    assert seen.unavailable["code"] == "missing_tool: no checker of the language is installed"
    assert len(seen.untold) > 10
    assert seen.confirmed + len(seen.drifted) + len(seen.untold) == len(asked)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"expected_truth": True}, "line 1, field 'expected_truth': found true, expected 'HOLDS' or 'FAILS'"),
        ({"oracle": "annotators"}, "line 1, field 'oracle': found 'annotators', expected schema, math, code or spec"),
        ({"statement": ""}, "line 1, field 'statement'"),
        ({"more": 1}, "line 1, field 'more': found a field that no rule reads; remove it"),
    ],
)
def test_a_file_of_claims_that_breaks_its_format_is_refused(claims, tmp_path, changes, sentence):
    path = tmp_path / "claims.jsonl"
    path.write_text(json.dumps(json.loads(claims[0].model_dump_json()) | changes) + "\n")
    with pytest.raises(MalformedObservations) as caught:
        read_claims(path)
    assert sentence in str(caught.value)


def test_a_claim_twice_and_an_empty_file_are_refused(claims, tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_text((claims[0].model_dump_json() + "\n") * 2)
    with pytest.raises(MalformedObservations, match="line 2, field 'claim_id': found 'schema-001' twice"):
        read_claims(path)
    path.write_text("\n")
    with pytest.raises(MalformedObservations, match="found nothing in it, expected a claim a line"):
        read_claims(path)
