"""Numbers that are read many at once: those that Python reads."""

from itertools import pairwise

import numpy as np
import pytest

from bboxqa.formats.translation.plain_words import plain_words


def test_numbers_as_python_reads_them():
    rng = np.random.default_rng(0)
    signs = rng.choice([*"00123456789..-e"], (4000, 10))
    words = [
        "".join(row[:length]) for row, length in zip(signs, rng.integers(1, 11, 4000), strict=True)
    ]
    numbers = [word for word in words if _number(word) is not None]
    found = plain_words("\n".join(numbers).encode(), 1).numbers(0)
    assert len(numbers) > 1000
    np.testing.assert_array_equal(found, [float(word) for word in numbers])


@pytest.mark.parametrize("length", range(1, 9))
def test_numbers_of_one_form_as_python_reads_them(length):
    digits = np.random.default_rng(length).choice([*"0123456789"], (50, length))
    for place in range(-1, length):
        words = ["".join([*row[:place], ".", *row[place + 1 :]]) for row in digits]
        if place < 0:
            words = ["".join(row) for row in digits]
        if length == 1 and place == 0:
            continue
        found = plain_words("\n".join(words).encode(), 1).numbers(0)
        np.testing.assert_array_equal(found, [float(word) for word in words])


@pytest.mark.parametrize(("word", "number"), [("05.1", 5.1), ("-0.5", -0.5), ("5e-1", 0.5)])
def test_one_number_of_another_form(word, number):
    words = plain_words(f"0.25\n{word}\n0.75".encode(), 1)
    assert words.numbers(0).tolist() == [0.25, number, 0.75]


@pytest.mark.parametrize("word", ["0.5x", "0.5.", "0,51", "0/51", "0.:1"])
def test_one_word_among_numbers_of_its_length(word):
    with pytest.raises(ValueError, match=r"number|convert|float"):
        plain_words(f"0.25\n{word}\n0.75".encode(), 1).numbers(0)


@pytest.mark.parametrize("word", ["", ".", "1.2.3", "1:5", "1/5", "-", "12345678x", "1\xa0"])
def test_words_that_are_no_numbers(word):
    words = plain_words(f"1.5 {word}\n2 {word}".encode(), 2)
    with pytest.raises(ValueError, match=r"number|convert|float"):
        words.numbers(1)


# Found by search: both have the same hash.
_ALIKE = ("categoryaadeaaaa", "oc100790fKYzbTU4")


@pytest.mark.parametrize(
    "known",
    [
        ["a"],
        ["a", "b", "ab", "ba"],
        ["", "traffic light", "traffic lights", "traffic", "light"],
        ["12345678", "123456789", "1234567812345678", "1234567812345679", "x" * 300],
        ["Käfer", "Kafer", "甲虫", "Käfe"],
        _ALIKE,
    ],
)
def test_codes_of_words_in_order_of_first_use(known):
    words = np.random.default_rng(1).choice(known, 200).tolist()
    found = plain_words("\n".join(f"1,{word}" for word in words).encode(), 2, b",")
    codes, distinct = found.numbered(1)
    assert distinct == list(dict.fromkeys(words))
    assert [distinct[code] for code in codes.tolist()] == words
    changes = [True, *(word != before for before, word in pairwise(words))]
    assert found.changes(1).tolist() == changes


def test_words_with_one_hash():
    words = plain_words("\n".join(_ALIKE).encode(), 1)
    hashes = words._hashes(words.begin[0], words.end[0] - words.begin[0])
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("known", [["7", "81", ""], ["12345678", "a-longer-id-of-an-annotation"]])
def test_short_texts_as_an_array(known):
    words = np.random.default_rng(2).choice(known, 50).tolist()
    found = plain_words("\n".join(f"1,{word}" for word in words).encode(), 2, b",")
    assert found.short_texts(1, 40).tolist() == words


@pytest.mark.parametrize("word", ["é", "x" * 41])
def test_no_array_of_long_or_other_texts(word):
    assert plain_words(f"a\n{word}".encode(), 1).short_texts(0, 40) is None


def _number(word):
    try:
        return float(word)
    except ValueError:
        return None


@pytest.mark.parametrize("n_words", [3, 3000])
def test_words_are_numbered_in_order_however_many_there_are(n_words):
    numbers = np.random.default_rng(n_words).integers(0, n_words, 9000).tolist()
    words = [f"{'long word ' * (number % 3)}{number}" for number in numbers]
    codes, names = plain_words("\n".join(words).encode(), 1, b",").numbered(0)
    known: dict[str, int] = {}
    assert codes.tolist() == [known.setdefault(word, len(known)) for word in words]
    assert names == [*known]


def test_changes_of_words_of_other_lengths():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice([*"ab"], length)) for length in rng.integers(1, 19, 500)]
    words = [word for word in words for _ in range(2)]
    found = plain_words("\n".join(words).encode(), 1).changes(0)
    assert found.tolist() == [True, *(one != other for one, other in pairwise(words))]
