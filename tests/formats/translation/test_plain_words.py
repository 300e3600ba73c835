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
