"""Locating findings about translated records in the user's own files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from bboxqa.formats.document import Origin, OwnPlace
from bboxqa.model.file_places import place_in_words
from bboxqa.model.findings import Finding


def placed_in_origin(origin: Origin, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings with file, line, column, pointer and excerpt of the original records.

    Images have names in place of ids that their tool does not show. Fixes are dropped, as they are
    edits of COCO JSON.
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
            ids=_shown(finding.ids, origin.image_names),
            excerpt=place.excerpt,
            examples=_examples([places[each] for each in finding.examples], place.file),
            fix=None,
            edits=(),
        )


def _examples(places: Iterable[OwnPlace], file: str) -> tuple[str, ...]:
    """Return where examples are, by pointer in the file of the finding, without unknown places."""
    known = [each for each in places if each.pointer or each.excerpt]
    words = (
        each.pointer
        if each.pointer and each.file == file
        else place_in_words(each.file, each.pointer or each.spot.line)
        for each in known
    )
    return tuple(dict.fromkeys(words))


def _shown(ids: Mapping[str, Any], names: Mapping[int, str]) -> Mapping[str, Any]:
    """Return ids with the name of the image in place of an id that nobody has seen."""
    image = ids.get("image")
    return {**ids, "image": names[image]} if isinstance(image, int) and image in names else ids
