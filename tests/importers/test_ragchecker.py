"""RAGChecker's labels: each claim by what it follows from, and no claims at all never a 0."""

from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedLog
from eval_pipeline.importers.kinds import log_of
from eval_pipeline.importers.results import Undecided, joined
from tests.importers.logs import as_bytes, ragchecker_log, ragchecker_result
from tests.stats.laws import LAW

E, N, C, A = "Entailment", "Neutral", "Contradiction", "Abstain"
EXAMPLES = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "ragchecker" / "examples"
LABELS = st.lists(st.sampled_from([E, N, C, A]), max_size=4)


def read(*results, only=(), **overall):
    return log_of("ragchecker", as_bytes(ragchecker_log(list(results), **overall)), "small.json", frozenset(only))


def labels(metric, **fields):
    """What a metric makes of one result."""
    result = ragchecker_result("q", fields.pop("said", [E]), fields.pop("wanted", [E]), **fields)
    return [row.undecided or row.score for row in read(result).rows if row.metric == metric]


def fault(*results):
    with pytest.raises(MalformedLog) as refusal:
        read(*results)
    return str(refusal.value)


def test_a_claim_counts_if_it_is_entailed():
    assert labels("precision", said=[E, N, C, A, None]) == [1, 0, 0, Undecided.UNSCORED, Undecided.UNSCORED]
    assert labels("recall", wanted=[C, E]) == [0, 1]


def test_a_claim_is_grounded_if_any_passage_entails_it():
    in_passages = [[N, E], [A, E], [N, C], [A, N]]
    assert labels("faithfulness", said=[E] * 4, retrieved2response=in_passages) == [1, 1, 0, Undecided.UNSCORED]
    assert labels("claim_recall", wanted=[E] * 4, retrieved2answer=in_passages) == [1, 1, 0, Undecided.UNSCORED]


def test_a_passage_counts_if_it_entails_any_claim():
    assert labels("context_precision", wanted=[E, E], retrieved2answer=[[N, E, A], [N, A, N]]) == [
        0, 1, Undecided.UNSCORED,
    ]  # fmt: skip


def test_what_is_wrong_and_found_nowhere_is_made_up_and_what_is_right_is_known():
    fields = {"said": [N, N, E, E, A, N], "retrieved2response": [[N], [E], [N], [E], [E], [A]]}
    assert labels("hallucination", **dict(fields)) == [1, 0, 0, 0, 0, Undecided.UNSCORED]
    assert labels("self_knowledge", **dict(fields)) == [0, 0, 1, 0, 0, 0]


def test_a_response_without_claims_is_undecided_and_not_0():
    assert labels("precision", said=[]) == [Undecided.NO_CLAIMS]


def test_metrics_that_were_not_asked_for_are_missing():
    result = ragchecker_result("q", [E], [E])
    for name in ("retrieved2response", "retrieved2answer"):
        del result[name]
    found = {row.metric: row.undecided for row in read(result).rows}
    assert found["precision"] is None
    assert found["faithfulness"] is found["hallucination"] is found["claim_recall"] is Undecided.MISSING


def test_the_file_names_the_system_and_only_what_is_asked_for_is_read():
    rows = read(ragchecker_result("q", [E], [N]), only=["recall"]).rows
    assert [(row.system, row.metric, row.item, row.repeat, row.score) for row in rows] == [
        ("small", "recall", "q", 1, 0.0)
    ]


def test_stated_means_are_per_cent_with_a_decimal():
    (stated,) = read(ragchecker_result("q", [E], [E]), precision=66.7, f1=50.0).headlines
    assert (stated.metric, stated.value, stated.rounded) == ("precision", pytest.approx(0.667), 0.0005)


@given(said=LABELS, wanted=LABELS, seed=st.randoms(use_true_random=False))
@LAW
def test_the_order_of_results_makes_no_difference(said, wanted, seed):
    results = [ragchecker_result(str(n), said[n:], wanted[n:]) for n in range(3)]
    mixed = seed.sample(results, 3)
    assert joined("ragchecker", [read(*mixed)]).hash == joined("ragchecker", [read(*results)]).hash


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([("q", [E], [E]), ("q", [N], [E])], "at $.results[1]: found query 'q' a second time, first at $.results[0]"),
        ([("q", ["entails"], [E])], 'at $.results[0].answer2response[0]: found "entails", expected Entailment, Neutr'),
        ([(7, [E], [E])], "at $.results[0].query_id: found 7, expected a text that is not blank"),
    ],
)
def test_what_breaks_the_format_is_refused_with_its_place(results, said):
    assert said in fault(*[ragchecker_result(*one) for one in results])


def test_labels_that_fit_no_claim_are_refused():
    short = ragchecker_result("q", [E, N], [E], response_claims=[["a", "is", "b"]])
    assert "$.results[0].answer2response: found a list, expected a label for each of the 1 claims" in fault(short)
    ragged = ragchecker_result("q", [E, N], [E], retrieved2response=[[E, N], [E]])
    assert "retrieved2response: found a list, expected as many labels for one claim as for another" in fault(ragged)


@pytest.mark.skipif(not EXAMPLES.exists(), reason=f"the third-party data are not beside the project, at {EXAMPLES}")
def test_the_published_numbers_of_its_own_example_come_out():
    log = log_of("ragchecker", (EXAMPLES / "checking_outputs.json").read_bytes(), "checking_outputs.json")
    scores = defaultdict(lambda: defaultdict(list))
    for row in log.rows:
        scores[row.metric][row.item].append(Fraction(row.score))
    stated = {one.metric: one for one in log.headlines}
    assert len(stated) == 7
    for metric, one in stated.items():
        means = [sum(items) / len(items) for items in scores[metric].values()]
        assert float(sum(means) / len(means)) == pytest.approx(one.value, abs=one.rounded)
