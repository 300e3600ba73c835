"""Where the files of images are that are drawn."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from unicodedata import normalize

from bboxqa.core.file_names import IMAGE_SUFFIXES
from bboxqa.core.text import as_written
from bboxqa.formats.translation.picture_sizes import is_picture
from bboxqa.rules.facts.image_places import ImageSearch, ImageState, Place


def places_of_names(
    names: Sequence[str], folders: Sequence[Path], sources: Sequence[Path]
) -> list[Place]:
    """Return the place of the file of each name below folders; see `ImageSearch`.

    A name may have escapes for control characters, or letters with marks in the other Unicode form.
    """
    search = ImageSearch([folder.resolve() for folder in folders], sources)
    places = search.find(names)
    for spelling in (as_written, partial(normalize, "NFC"), partial(normalize, "NFD")):
        other = {
            number: spelled
            for number, (name, place) in enumerate(zip(names, places, strict=True))
            if place.state != ImageState.FOUND and (spelled := spelling(name)) != name
        }
        for number, place in zip(other, search.find([*other.values()]), strict=True):
            places[number] = place
    for number, (name, place) in enumerate(zip(names, places, strict=True)):
        if place.state == ImageState.MISSING and not is_picture(name):
            places[number] = _with_suffix(as_written(name), search) or place
    return places


def _with_suffix(name: str, search: ImageSearch) -> Place | None:
    """Return the place of the only image file that has a name and a suffix; None if not one has.

    Labels of DOTA, for instance, name their image without it.
    """
    tried = [name + each for suffix in IMAGE_SUFFIXES for each in (suffix.upper(), suffix)]
    found = [each for each in search.find(tried) if each.state == ImageState.FOUND]
    # Where upper and lower case are the same, each file is found twice.
    distinct = {each.file.lower(): each for each in found}
    return distinct.popitem()[1] if len(distinct) == 1 else None
