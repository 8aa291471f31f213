import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval_pipeline.judge.lexical import entails, similarity, tokens

LAWS = settings(deadline=None, derandomize=True, max_examples=60)
words = st.sampled_from(
    "pump pumps failed not never 3 three 27 1,000 0.5 the of valve cracked e shaft isn't Mrs water".split()
)
phrases = st.lists(words, max_size=7).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("The pump of the", {"pump"}, id="stop words go"),
        pytest.param("PUMP", {"pump"}, id="case goes"),
        pytest.param("failed failing fails", {"fail"}, id="endings go"),
        pytest.param("inspection inspections", {"inspection"}, id="plural goes"),
        pytest.param("three 3", {"3"}, id="number words are numbers"),
        pytest.param("1,000 litres", {"1000", "litr"}, id="thousands"),
        pytest.param("0.82 bar", {"0.82", "bar"}, id="decimals"),
        pytest.param("not never cannot isn't isn’t without", {"not"}, id="one mark for every negation"),
        pytest.param("the pump's", {"pump"}, id="genitive"),
        pytest.param("bed", {"bed"}, id="short words keep their endings"),
        pytest.param("", set(), id="empty"),
        pytest.param("?! --", set(), id="no words"),
    ],
)
def test_tokens_are_stems_numbers_and_one_mark_for_not(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize("text", ["Send an e-mail.", "Vitamin E", "Eee!", "E. coli", "e"])
def test_a_word_of_the_letter_e_alone_can_be_judged(text):
    """Every token has a first letter, also that of a word from which the final e would take everything."""
    assert "" not in tokens(text)
    assert entails([text], text) == bool(tokens(text))


@pytest.mark.parametrize(
    ("premises", "hypothesis", "supported"),
    [
        pytest.param(["The sump pump failed."], "The sump pump failed.", True, id="the same"),
        pytest.param(["The sump pump failed on Monday night."], "A sump pump fails.", True, id="less said"),
        pytest.param(["a b1 cat dog elk"], "cat dog elk fox gnu", True, id="3 of 5 words are .6"),
        pytest.param(["cat dog"], "cat dog fox gnu", False, id="2 of 4 words are less"),
        pytest.param(["27 boxes blocked it"], "28 boxes blocked it", False, id="other number"),
        pytest.param(["boxes blocked it"], "27 boxes blocked it", False, id="number missing"),
        pytest.param(["three boxes blocked it"], "3 boxes blocked it", True, id="number in words"),
        pytest.param(["It was not blocked"], "It was blocked", False, id="negated premise"),
        pytest.param(["It was blocked"], "It was not blocked", False, id="negated hypothesis"),
        pytest.param(["It was never blocked"], "It wasn't blocked", True, id="both negated"),
        pytest.param(["Cats purr.", "Dogs bark."], "Cats purr and dogs bark.", True, id="by composition"),
        pytest.param(["Cats purr.", "It did not rain."], "Cats purr.", True, id="a not of another text"),
        pytest.param(["Cats purr loudly.", "No dogs bark."], "Cats purr and dogs bark.", True, id="not is no bar"),
        pytest.param(["Cats purr.", "Dogs bark."], "Cats purr and dogs don't bark.", False, id="not is in none"),
        pytest.param(["anything at all"], "", False, id="empty hypothesis"),
        pytest.param(["anything at all"], "of the", False, id="hypothesis of stop words"),
        pytest.param([""], "Cats purr.", False, id="empty premise"),
        pytest.param([], "Cats purr.", False, id="no premise"),
    ],
)
def test_most_words_all_numbers_and_the_negation_must_stand_in_the_premise(premises, hypothesis, supported):
    assert entails(premises, hypothesis) is supported


@LAWS
@given(st.lists(phrases, min_size=1, max_size=4), phrases)
@example(["pump failed", "valve not cracked"], "pump failed")
def test_what_one_text_supports_all_together_support(premises, hypothesis):
    """Without this law, the call for all signals at once would end propositions that a single signal recovers."""
    if any(entails([premise], hypothesis) for premise in premises):
        assert entails(premises, hypothesis)


@LAWS
@given(phrases)
def test_a_text_with_any_content_supports_itself(text):
    assert entails([text], text) == bool(tokens(text))


@LAWS
@given(st.lists(phrases, min_size=1, max_size=4), phrases)
def test_the_order_of_the_premises_does_not_matter(premises, hypothesis):
    assert entails(premises, hypothesis) == entails(premises[::-1], hypothesis)


@LAWS
@given(phrases, phrases)
def test_similarity_is_a_share_and_1_for_the_same_text(premise, hypothesis):
    assert 0.0 <= similarity(premise, hypothesis) <= 1.0
    assert similarity(hypothesis, hypothesis) == (1.0 if tokens(hypothesis) else 0.0)


def test_similarity_is_the_covered_share_of_the_hypothesis():
    # hypothesis: cat, dog, 3, fox = 4 tokens; the premise holds cat and 3
    assert similarity("three cats and an elk", "cat dog 3 fox") == 0.5
    assert similarity("cat dog 3 fox", "three cats and an elk") == pytest.approx(2 / 3)
