"""Which images of a file may be in earlier files, so that few pairs of files are compared."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from bboxqa.core.arrays import IndexArray, rows
from bboxqa.rules.facts.document import Document

Keys = Callable[[Document], Iterable[tuple[int, Hashable]]]
"""What yields images of a file and their keys, such as names."""


def earlier_candidates(
    documents: Sequence[Document], keys: Keys
) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield for each file the earlier files that share a key with it, and the images with that key.

    Hashes of keys are compared, so that files may be among them that share none.

    Yields
    ------
    place : (K,) int64
        Places in `documents`, in order.
    image : (K,) int64
    """
    place, image, code = _listed(documents, keys)
    order = np.lexsort((place, code))
    place, image, code = place[order], image[order], code[order]
    is_first = np.ones(len(code), np.bool_)
    is_first[1:] = code[1:] != code[:-1]
    is_first_of_file = is_first.copy()
    is_first_of_file[1:] |= place[1:] != place[:-1]
    # Each file with a key has one entry, whichever of its images have it.
    files = place[is_first_of_file]
    stop = np.cumsum(is_first_of_file) - 1
    start = np.maximum.accumulate(np.where(is_first, stop, 0))
    shared = np.flatnonzero(stop > start)
    shared = shared[np.argsort(place[shared], kind="stable")]
    bounds = np.searchsorted(place[shared], np.arange(len(documents) + 1))
    for begin, end in pairwise(bounds.tolist()):
        entry = shared[begin:end]
        earlier, offsets = rows(start[entry], stop[entry])
        of_entry = np.repeat(image[entry], np.diff(offsets))
        in_order = np.argsort(files[earlier], kind="stable")
        yield files[earlier][in_order], of_entry[in_order]


def _listed(documents: Sequence[Document], keys: Keys) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the file, the image and the hash of each key."""
    parts = [np.zeros((0, 3), np.int64)]
    for place, document in enumerate(documents):
        found = [(place, image, hash(key)) for image, key in keys(document)]
        parts.append(np.array(found, np.int64).reshape(-1, 3))
    place, image, code = np.concatenate(parts).T
    return place, image, code
