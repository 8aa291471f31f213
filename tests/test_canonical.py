"""Equal values have equal bytes and equal hashes, on every machine; what JSON cannot hold is refused."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from eval_pipeline.canonical import canonical_bytes, content_hash, seeded_order, text_hash

LAW = settings(deadline=None, derandomize=True, max_examples=60)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"b": 1, "a": [True, None, 0.5]}, b'{"a":[true,null,0.5],"b":1}', id="keys-sorted-no-white-space"),
        pytest.param({"a": {"z": 1, "y": 2}}, b'{"a":{"y":2,"z":1}}', id="keys-sorted-within"),
        pytest.param({"B": 1, "a": 2, "A": 3}, b'{"A":3,"B":1,"a":2}', id="capitals-first"),
        pytest.param("Zürich", b'"Z\xc3\xbcrich"', id="utf-8-not-escapes"),
        pytest.param("\U0001f600", b'"\xf0\x9f\x98\x80"', id="beyond-the-basic-plane"),
        pytest.param('a"\\\n\x01', b'"a\\"\\\\\\n\\u0001"', id="escapes-that-json-demands"),
        pytest.param(0.1 + 0.2, b"0.30000000000000004", id="shortest-float"),
        pytest.param(2**70, b"1180591620717411303424", id="integer-of-any-size"),
        pytest.param([], b"[]", id="empty"),
    ],
)
def test_a_value_has_these_bytes(value, expected):
    assert canonical_bytes(value) == expected
    assert content_hash(value) == hashlib.sha256(expected).hexdigest()


def test_two_ways_to_write_one_letter_stay_two_texts():
    """The bytes are those of the text as it stands; nothing is normalised."""
    assert text_hash("\u00fc") != text_hash("u\u0308")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="nan"),
        pytest.param([float("inf")], id="infinity"),
        pytest.param({"a": float("-inf")}, id="minus-infinity"),
        pytest.param("\ud800", id="lone-surrogate"),
        pytest.param({"\udfff": 1}, id="lone-surrogate-in-a-key"),
    ],
)
def test_what_json_in_utf_8_cannot_hold_is_refused(value):
    with pytest.raises(ValueError, match=r"JSON compliant|surrogates not allowed"):
        content_hash(value)


def test_a_text_with_a_lone_surrogate_has_no_hash():
    with pytest.raises(ValueError, match="surrogates not allowed"):
        text_hash("a\ud800")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            text_hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", id="empty-text"
        ),
        pytest.param(
            text_hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", id="fips-180-abc"
        ),
        pytest.param(
            content_hash({}), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", id="empty-object"
        ),
    ],
)
def test_the_hash_is_the_published_one(found, expected):
    assert found == expected


@LAW
@given(VALUES)
def test_the_bytes_read_back_as_the_value(value):
    assert json.loads(canonical_bytes(value)) == value


@LAW
@given(st.dictionaries(TEXT, VALUES, max_size=6), st.randoms(use_true_random=False))
def test_the_order_in_which_keys_were_put_plays_no_part(fields, shuffler):
    names = shuffler.sample(sorted(fields), len(fields))
    assert canonical_bytes({name: fields[name] for name in names}) == canonical_bytes(fields)


@LAW
@given(st.dictionaries(TEXT, TEXT, max_size=4), st.dictionaries(TEXT, TEXT, max_size=4))
def test_different_objects_have_different_hashes(one, other):
    assert (content_hash(one) == content_hash(other)) == (one == other)


def test_another_process_with_another_hash_seed_writes_the_same():
    program = (
        "from eval_pipeline.canonical import content_hash, seeded_order\n"
        "print(content_hash({'b': ['é', 0.1], 'a': {'y': 1, 'x': None}}), seeded_order(7, 'é'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    expected = f"{content_hash({'a': {'x': None, 'y': 1}, 'b': ['é', 0.1]})} {seeded_order(7, 'é')}"
    assert {output.decode().strip() for output in outputs} == {expected}


def test_the_order_of_a_name_is_the_hash_of_seed_and_name():
    assert seeded_order(4242, "entry-1") == hashlib.sha256(b"4242:entry-1").hexdigest()


def test_a_seed_orders_names_one_way_whatever_order_they_came_in():
    names = [f"entry-{number}" for number in range(50)]
    ordered = sorted(names, key=lambda name: seeded_order(1, name))
    turned = names[::-1]
    assert sorted(turned, key=lambda name: seeded_order(1, name)) == ordered
    assert sorted(names, key=lambda name: seeded_order(2, name)) != ordered
    assert ordered != names


def test_every_name_comes_first_as_often_as_every_other_over_many_seeds():
    names = ["a", "b", "c", "entry-1", "entry-2"]
    first = Counter(min(names, key=lambda name: seeded_order(seed, name)) for seed in range(2_000))
    assert chisquare([first[name] for name in names]).pvalue > 0.01
