"""Places of values in json text, against a parser of the standard library."""

import json

import numpy as np

from bboxqa.core.json_values import pointer_to
from bboxqa.formats.positions import JsonPlaces


def values(value, parts=()):
    yield parts, value
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inside:
            yield from values(each, (*parts, key))


def made(rng, depth):
    kind = rng.integers(5 if depth else 3)
    if kind == 3:
        return [made(rng, depth - 1) for _ in range(rng.integers(4))]
    if kind == 4:
        return {f"k/~é{n}": made(rng, depth - 1) for n in range(rng.integers(4))}
    return [int(rng.integers(99)), 'é{}[]"\\', None][kind]


def test_every_value_is_found():
    rng = np.random.default_rng(3)
    for _ in range(30):
        document = [made(rng, 4), {}]
        text = json.dumps(document, ensure_ascii=False, indent=int(rng.integers(3))).encode()
        places = JsonPlaces(text)
        every = list(values(document))
        for row in rng.permutation(len(every)):
            parts, value = every[row]
            begin, end = places.span(pointer_to(*parts))
            assert json.loads(text[begin:end]) == value


def test_what_does_not_exist_is_the_place_of_its_holder():
    text = b'[{"a": 1}, 2]'
    assert JsonPlaces(text).span("/0/b/c") == (1, 9)
    assert JsonPlaces(text).span("/7") == (0, len(text))
    assert JsonPlaces(b"[1, 2").span("/0") == (0, 5)
