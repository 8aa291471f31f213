"""What a panel says together: ties, votes that say nothing, and Bayes' rule written out another way."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.judge_reliability.consensus import RELIABILITY_SCHEMA_VERSION, Voice, bayesian, weighted
from eval_pipeline.studies.judge_reliability.words import Vote

FIFTH = Fraction(1, 5)
PASS, SPEC, RUNTIME, OPEN, FAIL = Vote
SHARES = st.integers(0, 100).map(lambda n: n / 100)
VOICES = st.lists(st.builds(Voice, st.sampled_from(Vote), SHARES, SHARES), max_size=6)


def said(*voices):
    return bayesian([Voice(*voice) for voice in voices], information_above=FIFTH)


def test_two_judges_by_hand():
    """PASS with .9 * .8 = .72: .72 * .07; FAIL with the other's (1 - .72) / 4 = .07: the same; three others .07^2."""
    found = said((PASS, 0.9, 0.8), (FAIL, 0.9, 0.8))
    assert found.vote is FAIL  # ties go to the more severe
    assert found.confidence == pytest.approx(0.72 * 0.07 / (2 * 0.72 * 0.07 + 3 * 0.07**2), abs=1e-12)
    assert (found.informative, found.reliability_schema_version) == (2, RELIABILITY_SCHEMA_VERSION)


@pytest.mark.parametrize(
    ("reliability", "confidence", "heard"),
    [(0.8, 0.25, 0), (0.8, 0.26, 1), (1.0, 0.2, 0), (0.0, 0.9, 0), (0.3, 0.7, 1)],
)
def test_a_vote_at_a_fifth_says_nothing(reliability, confidence, heard):
    """.8 * .25 is .2, and so is chance among five."""
    found = said((PASS, confidence, reliability))
    assert (found.informative, found.vote) == (heard, PASS if heard else OPEN)
    assert heard or found.confidence == pytest.approx(0.2)


def test_judges_beyond_doubt_that_contradict_each_other_leave_it_open():
    assert said((PASS, 1.0, 1.0), (FAIL, 1.0, 1.0)).vote is OPEN
    assert said((PASS, 1.0, 1.0), (PASS, 1.0, 1.0)).confidence == 1.0


@given(VOICES.filter(lambda voices: any(one.reliability * one.confidence > 0.2001 for one in voices)))
def test_it_is_bayes_rule_by_logarithms(voices):
    """numpy 2, in another order and on another scale."""
    found = bayesian(voices, information_above=FIFTH)
    trust = np.array([one.reliability * one.confidence for one in voices])
    kept = trust > 0.2 + 1e-9
    agrees = np.array([[one.vote is vote for one in voices] for vote in Vote])
    with np.errstate(divide="ignore"):
        logs = np.where(agrees, np.log(trust), np.log((1 - trust) / 4))[:, kept].sum(axis=1)
    if np.isneginf(logs).all():
        assert found.vote is OPEN
        return
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    assert found.confidence == pytest.approx(shares.max(), abs=1e-9)
    assert shares[found.vote.severity] == pytest.approx(shares.max(), abs=1e-9)
    assert not (shares[found.vote.severity + 1 :] > shares.max() * (1 - 1e-13)).any()


@given(VOICES, st.randoms(use_true_random=False))
def test_the_order_of_judges_plays_no_part(voices, random):
    mixed = list(voices)
    random.shuffle(mixed)
    one, other = (bayesian(panel, information_above=FIFTH) for panel in (voices, mixed))
    assert one.vote is other.vote
    assert one.confidence == pytest.approx(other.confidence, abs=1e-9)
    votes = [(voice.vote, voice.confidence) for voice in voices]
    assert weighted(votes) == weighted([(voice.vote, voice.confidence) for voice in mixed])


@given(VOICES)
def test_a_panel_never_fails_what_no_judge_failed(voices):
    calm = [one for one in voices if one.vote is not FAIL]
    assert bayesian(calm, information_above=FIFTH).vote is not FAIL
    assert weighted([(one.vote, one.confidence) for one in calm]).vote is not FAIL


@pytest.mark.parametrize(
    ("votes", "vote", "confidence"),
    [
        ([(PASS, 0.5), (FAIL, 0.5)], FAIL, 0.5),
        ([(PASS, 0.6), (FAIL, 0.5)], PASS, 0.6 / 1.1),
        ([(PASS, 0.3), (PASS, 0.3), (FAIL, 0.6)], FAIL, 0.5),  # .3 + .3 is .6, if not in floats
        ([(SPEC, 0.2), (RUNTIME, 0.2), (FAIL, 0.1)], RUNTIME, 0.4),
        ([(PASS, 0.0), (FAIL, 0.0)], FAIL, 0.5),
    ],
)
def test_the_weighted_vote_by_hand(votes, vote, confidence):
    found = weighted(votes)
    assert (found.vote, found.reliability_schema_version) == (vote, None)
    assert found.confidence == pytest.approx(confidence, abs=1e-12)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_what_is_no_share_is_refused(value):
    with pytest.raises(InputRefused, match="confidence: found"):
        weighted([(PASS, value)])
    with pytest.raises(InputRefused, match="confidence: found"):
        said((PASS, value, 0.5))
    with pytest.raises(InputRefused, match="reliability: found"):
        said((PASS, 0.5, value))
