"""The beginnings of lists of records, and the cuts between records."""

import re

Text = bytes
"""The content of a file."""

ANNOTATIONS = re.compile(rb'"annotations"\s*:\s*\[')
"""The beginning of the list of annotations; a nested list may have the same name."""

LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
"""The beginning of a list at the top level."""

# The keys by which a result is recognised even if a long mask follows.
_OF_IMAGE, _OF_RESULTS = b'"image_id"', (b'"score"', b'"caption"')
_FIRST_RESULT = 1 << 20

# The first keys of a record, with values that are not nested deeply.
_SEGMENTS = re.compile(rb'\s*\{(?:[^{}\[\]]|\{[^{}]*\}|\[[^{}\[\]]*\])*?"segments_info"\s*:')

BETWEEN_RECORDS = re.compile(rb"\}\s*,\s*\{")
"""The end of an object in a list and the beginning of the next; strings may also contain it."""

BETWEEN_SEGMENTS = re.compile(rb'\}\s*,\s*\{(?=\s*"(?:segments_info|file_name|image_id)")')
"""The same in panoptic COCO, whose segments have none of these keys."""

WINDOW = 1 << 20
"""Bytes per window: few enough objects to stay in the processor's cache."""


def begins_with_results(text: bytes, place: int = 0) -> bool:
    """Return whether a list at a place begins like one of results.

    Examples
    --------
    >>> begins_with_results(b'[{"image_id": 1, "score": 1}]'), begins_with_results(b"[7]")
    (True, False)
    """
    head = text[place : place + _FIRST_RESULT]
    is_list = LIST.match(head) is not None
    return is_list and _OF_IMAGE in head and any(key in head for key in _OF_RESULTS)


def begins_with_segments(text: bytes, place: int) -> bool:
    """Return whether the record at a place is one of panoptic COCO, which lists segments.

    Examples
    --------
    >>> begins_with_segments(b'[{"image_id": 1, "segments_info": []}]', 1)
    True
    """
    return _SEGMENTS.match(text, place) is not None
