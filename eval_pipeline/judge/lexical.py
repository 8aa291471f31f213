"""The offline judge: deterministic, by words in common; good enough to run everything without a model.

A hypothesis counts as supported when most of its content words, all of its numbers and its negation stand in the
premise. It knows no synonyms and no grammar, so it errs in both directions; its verdicts are never calibrated.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

COVERED_SHARE = 0.6  # near the best of a sweep on the bundled sample; a change needs a new REVISION
REVISION = "lexical-1"

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")
_STOP = frozenset(
    "a about after all also an and any are as at be been before being but by can could did do does for from had"
    " has have he her his if in into is it its may more most must of on or our over she should since so some than"
    " that the their them then there these they this those to under until up was we were what when where which"
    " while who will with would you".split()
)
_NEGATIONS = frozenset("no not never none neither nor without cannot".split())
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_NUMBERS)}
_SUFFIXES = ("ations", "ation", "ingly", "ings", "ing", "edly", "ed", "ies", "es", "s", "ly")


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word.removesuffix(suffix).rstrip("e") or word
    return word.rstrip("e") or word


@lru_cache(maxsize=65536)
def tokens(text: str) -> frozenset[str]:
    """The stems, numbers and the mark "not" that a text holds; stop words are left out."""
    found = set()
    for word in _WORD.findall(text.casefold()):
        if word[0].isdigit():
            found.add(_THOUSANDS.sub("", word))
        elif word in _NEGATIONS or word.endswith(("n't", "n’t")):
            found.add("not")
        elif word in _NUMBER_WORDS:
            found.add(_NUMBER_WORDS[word])
        elif word not in _STOP:
            found.add(_stem(word.removesuffix("'s").removesuffix("’s") or word))
    return frozenset(found)


def similarity(premise: str, hypothesis: str) -> float:
    """The share of the hypothesis' tokens that the premise holds, in [0, 1]; 0.0 for a hypothesis without tokens."""
    wanted = tokens(hypothesis)
    return len(wanted & tokens(premise)) / len(wanted) if wanted else 0.0


def _entails(premise: frozenset[str], hypothesis: frozenset[str]) -> bool:
    numbers = {stem for stem in hypothesis if stem[0].isdigit()}
    words = hypothesis - numbers - {"not"}
    return (
        bool(hypothesis)
        and numbers <= premise
        and ("not" in hypothesis) == ("not" in premise)
        and len(words & premise) >= COVERED_SHARE * len(words)
    )


def entails(premises: Sequence[str], hypothesis: str) -> bool:
    """Whether one of the texts, or all of them together, support the hypothesis."""
    wanted = tokens(hypothesis)
    bags = [tokens(premise) for premise in premises]
    if any(_entails(bag, wanted) for bag in bags):
        return True
    if len(bags) == 1:
        return False
    together = frozenset[str]().union(*bags)
    # Of several texts some will hold a "not" that has nothing to do with the hypothesis, so together it is no bar.
    return _entails(together if "not" in wanted else together - {"not"}, wanted)
