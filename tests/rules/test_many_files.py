"""Images that are in several of many files, most pairs of which have nothing in common."""

from collections import Counter
from cProfile import Profile

import numpy as np
import pytest
from support.validation import document_of, exact

from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.runner import validate_documents


def files(lists):
    """Return a file for each list of names and widths of images."""
    documents = []
    for place, listed in enumerate(lists):
        pairs = enumerate(listed, 1)
        records = [{"id": n, "file_name": e, "width": w, "height": 40} for n, (e, w) in pairs]
        content = {"images": records, "annotations": [], "categories": []}
        documents.append(document_of(exact(content).encode(), f"{place}.json"))
    return documents


def found_in(lists, code):
    """Return what is found as file, image, and the words on the image of an earlier file."""
    report = validate_documents(files(lists), ValidateSettings(select=(code,)), 0)
    return [
        (int(each.file[:-5]), int(each.pointer.rpartition("/")[2]), each.message.partition(";")[0])
        for each in report.findings
        if each.count == 1 and "images are" not in each.message
    ]


def last_part(name):
    return name.rpartition("/")[2]


def is_telling(listed):
    names = {name for name, _ in listed}
    return len({last_part(name) for name in names}) == len(names)


def twin_of(name, width, listed, earlier):
    """Return the first image of an earlier file that is the same by name, and how."""
    for other, _ in earlier:
        if name == other:
            return "has the same name as", other
    if is_telling(listed) and is_telling(earlier):
        for other, its_width in earlier:
            if last_part(name) == last_part(other):
                return ("has the same name and size as", other) if width == its_width else None
    return None


@pytest.mark.parametrize("seed", range(20))
def test_each_image_is_found_in_the_first_file_that_has_it(seed):
    rng = np.random.default_rng(seed)
    n_names = int(rng.integers(2, 25))
    lists = [
        [
            (f"{'abc'[rng.integers(3)]}/{rng.integers(n_names)}.jpg", int(rng.integers(50, 52)))
            for _ in range(rng.integers(0, 5))
        ]
        for _ in range(12)
    ]
    expected, n_shared = [], Counter()
    for place, listed in enumerate(lists):
        for row, (name, width) in enumerate(listed):
            pairs = ((at, twin_of(name, width, listed, lists[at])) for at in range(place))
            twins = [(at, each) for at, each in pairs if each]
            n_shared.update((place, at) for at, _ in twins)
            if twins:
                at, (how, other) = twins[0]
                message = f'image "{name}" {how} "{other}" in {at}.json'
                expected.append((place, at, (place, row, message)))
    # Files with most images in common are one finding, which the oracle leaves out.
    few = [
        each
        for place, at, each in expected
        if n_shared[place, at] <= 0.5 * max(len(lists[place]), len(lists[at]))
    ]
    assert sorted(found_in(lists, "M008")) == sorted(few)


@pytest.mark.parametrize("code", ["M008", "M010"])
def test_work_grows_with_the_number_of_files_and_not_of_pairs(code):
    few, many = (calls(apart(n_files), code) for n_files in (60, 120))
    assert many < 2.5 * few


def apart(n_files):
    """Return files that have no image in common."""
    return files([(f"{place}.jpg", 50)] for place in range(n_files))


def calls(documents, code):
    """Return how many functions of Python and of C are called."""
    with Profile() as profile:
        validate_documents(documents, ValidateSettings(select=(code,)), 0)
    return sum(each.callcount for each in profile.getstats())
