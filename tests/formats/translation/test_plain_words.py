"""Numbers that are read many at once: those that Python reads."""

import numpy as np
import pytest

from bboxqa.formats.translation.plain.plain_words import plain_words


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


def _number(word):
    try:
        return float(word)
    except ValueError:
        return None
