"""Ids that two versions give their annotations, as opposed to numbers of their positions."""

import re

import numpy as np

from bboxqa.core.arrays import IndexArray, IntArray, TextArray
from bboxqa.core.text import in_natural_order
from bboxqa.model.annotations import Dataset
from bboxqa.model.file_places import FilePlaces

COUNTED = "ids that count up without gaps may be positions"
"""Why ids are not used that may be assigned anew by each export."""
_NONE = "not both versions have annotations"

# What annotations without an id are found by: a line, a JSON pointer, or a frame of a track, whose
# number is its position in the file.
_PLACE = re.compile(r"(?s).*(:\d+|#/.*)|/.*|track .*, frame \d+")
# Longer numbers do not fit into 64 bits.
_MOST_DIGITS = 18


def id_codes(before: Dataset, after: Dataset) -> tuple[IndexArray | None, str]:
    """Return codes of the ids of all annotations, in their order, and what speaks against them.

    Returns
    -------
    codes : (N,) int64 or None
        The annotations before, and then those after; equal where ids are. None if a version has no
        ids or annotations.
    reason : str
        Why there are no codes, or why they may be positions: the ids of both versions count up
        from 0 or 1 without gaps, as most exports number annotations anew. Empty otherwise.
    """
    given = given_ids(before), given_ids(after)
    lacking = [name for name, ids in zip(("before", "after"), given, strict=True) if ids is None]
    if lacking:
        return None, f"the annotations {' and '.join(lacking)} have no ids"
    old, new = (np.zeros(0, np.int64) if ids is None else ids for ids in given)
    if not (len(old) and len(new)):
        return None, _NONE
    counted = count_up(old, before.annotations.annotator)
    doubt = COUNTED if counted and count_up(new, after.annotations.annotator) else ""
    if old.dtype.kind == new.dtype.kind == "i":
        return np.concatenate([old, new]).astype(np.int64), doubt
    texts = np.concatenate([ids.astype(np.str_) for ids in (old, new)])
    names, place = np.unique(texts, return_inverse=True)
    rank = {name: code for code, name in enumerate(in_natural_order(names.tolist()))}
    codes: IndexArray = np.array([rank[name] for name in names.tolist()], np.int64)[place]
    return codes, doubt


def given_ids(data: Dataset) -> IndexArray | TextArray | None:
    """Return the ids that the file or its tool gives annotations, (N,); None if it gives none."""
    own = data.annotations.own_id
    if own is None:
        return data.annotations.id
    if isinstance(own, FilePlaces):
        return None
    if not data.has_text_ids and any(map(_PLACE.fullmatch, own.tolist())):
        return None
    return own


def count_up(ids: IndexArray | TextArray, annotator: IntArray) -> bool:
    """Return whether ids are all numbers from 0 or 1 to the last one.

    If ids occur twice, as in one file per annotator, those of each annotator must be.

    Examples
    --------
    >>> one = np.zeros(3, np.int32)
    >>> count_up(np.array([2, 1, 3]), one), count_up(np.array(["0", "1", "3"]), one)
    (True, False)
    >>> count_up(np.array([1, 1, 2]), np.array([0, 1, 1], np.int32))
    True
    """
    if ids.dtype.kind == "U":
        texts = ids.astype(np.str_)
        if (
            not np.char.isdecimal(texts).all()
            or np.char.str_len(texts).max(initial=0) > _MOST_DIGITS
        ):
            return False
        ids = ids.astype(np.int64)
    if len(np.unique(ids)) == len(ids):
        annotator = np.zeros(len(ids), np.int32)
    order = np.lexsort((ids, annotator))
    first = np.diff(annotator[order], prepend=-1) != 0
    step = np.diff(ids[order], prepend=0)
    return bool(np.isin(ids[order][first], (0, 1)).all() and (step[~first] <= 1).all())
