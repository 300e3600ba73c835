"""Locating findings about translated records in the user's own files."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bboxqa.formats.document.origin import Origin
from bboxqa.model.findings import Finding


def placed_in_origin(origin: Origin, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings with file, line, column, pointer and excerpt of the original records.

    Their fixes are dropped, as fixes are edits of COCO JSON.
    """
    listed = list(findings)
    pointers = dict.fromkeys(
        pointer for finding in listed for pointer in (finding.pointer, *finding.examples)
    )
    places = dict(zip(pointers, origin.own_places(list(pointers)), strict=True))
    for finding in listed:
        # A summary is about the whole file, and is located at the first of its records.
        place = places[
            finding.examples[0] if finding.count > 1 and finding.examples else finding.pointer
        ]
        yield replace(
            finding,
            file=place.file,
            pointer=place.pointer,
            spot=place.spot,
            excerpt=place.excerpt,
            examples=tuple(dict.fromkeys(places[each].pointer for each in finding.examples)),
            fix=None,
            edits=(),
        )
