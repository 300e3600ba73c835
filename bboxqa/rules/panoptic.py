"""G: panoptic segments in the file, and in their PNG files."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, find
from bboxqa.core.json_values import shortened
from bboxqa.core.machine import threads
from bboxqa.core.text import clean, first_few
from bboxqa.formats.columns import Columns, Kind
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules import layout
from bboxqa.rules.base import Checked, Rows, rule
from bboxqa.rules.document import Document, kind_of
from bboxqa.rules.pictures import ImageState, Place, find_files

_N_COLOURS = 1 << 24
_WHOLE = "a whole number, 0 or more"
_COLOURS = f"1 to {_N_COLOURS - 1:,}, as red + 256 green + 65536 blue"
_AT = "annotations/segments_info"


def _whole(segments: Columns, key: str) -> IndexArray:
    """Return the ids of segments, (S,); -1 where they are not written as whole numbers."""
    ids: IndexArray = getattr(segments, key)
    is_whole = segments.whole[key] & (segments.kind[key] == Kind.INT) & (ids >= 0)
    return np.where(is_whole, ids, -1)


def _of_segments(document: Document, code: str, where: BoolArray, key: str, expected: str) -> Rows:
    """Return the segments where the value of a key, or the segment itself, is wrong."""
    row, place = document.annotations.segment_of.T

    def says(which: int) -> str:
        segment = document.record(int(row[which]))["segments_info"][int(place[which])]
        if not key:
            return f"segment is {shortened(segment)}"
        name = f"segment {shortened(segment['id'])}" if "id" in segment else "a segment"
        return f"{key} of {name} is {shortened(segment[key]) if key in segment else 'missing'}"

    keys = (key,) if key else ()
    inner = lambda which: (int(place[which]), *keys)  # noqa: E731
    return Rows(where, says, _AT, expected, owner=row, inner=inner, code=code)


def panoptic_example(**segment: object) -> str:
    """Return a panoptic file with two segments; `segment` replaces keys of the second."""
    first = {"id": 7, "category_id": 1, "area": 9, "iscrowd": 0, "bbox": [0, 0, 3, 3]}
    second = {**first, "id": 8, "bbox": [4, 0, 3, 3], **segment}
    return (
        '{"images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 5}],\n'
        '"categories": [{"id": 1, "name": "cat"}],\n'
        '"annotations": [{"image_id": 1, "file_name": "a.png", "segments_info": [\n'
        f"{json.dumps(first)},\n{json.dumps(second)}]}}]}}"
    )


def _segments(document: Document, _settings: ValidateSettings) -> Checked:
    """G001 to G004: segments without a key, and impossible ids, categories and areas."""
    segments, unlisted = document.annotations.segments, document.is_object.copy()
    if segments is None:
        return
    ids, area, box = _whole(segments, "id"), segments.area, segments.bbox[:, 2:].prod(1)
    categories, (row, place) = _whole(segments, "category_id"), document.annotations.segment_of.T
    unlisted[row[place >= 0]] = False
    # An empty list has no segments either, but is valid.
    wrong = [row for row in np.flatnonzero(unlisted).tolist()
             if document.record(row).get("segments_info") != []]  # fmt: skip
    yield Rows(wrong, at=_AT, expected="a list of segments", code="G001")
    lacks = {
        ("id", _WHOLE): ids < 0,
        ("category_id", _WHOLE): categories < 0,
        ("area", "a number of pixels"): np.isnan(area),
        ("iscrowd", "0 or 1"): (segments.iscrowd < 0) | (segments.kind["iscrowd"] != Kind.INT),
    }
    if kind_of(document).is_of_truth:
        # The areas of results are counted in their PNG.
        lacks = dict(list(lacks.items())[:2])
    left = place >= 0
    empty = left & np.logical_and.reduce(list(lacks.values()))
    found = [("G001", empty, "", f"an object with {', '.join(key for key, _ in lacks)}")]
    left &= ~empty
    for (key, expected), lacking in lacks.items():
        found.append(("G001", left & lacking, key, expected))
        left = left & ~lacking
    repeated = (layout.first_equal([row, ids]) != np.arange(len(ids))) & (ids > 0)
    found += [
        ("G002", (ids == 0) | (ids >= _N_COLOURS), "id", _COLOURS),
        ("G002", repeated, "id", "an id that no other segment of the image has"),
        ("G004", area <= 0, "area", "1 pixel or more"),
        ("G004", (area > 0) & (area > box), "area", "no more than in its bbox"),
    ]
    if document.complete("categories"):
        known = document.categories.id[document.categories.whole]
        unknown = (find(known, categories) < 0) & (categories >= 0)
        found.append(("G003", unknown, "category_id", "the id of one of the categories"))
    yield from (_of_segments(document, *each) for each in found)
    areas, n = np.where(area > 0, area, 0), len(document.annotations)
    total = np.bincount(row, areas, minlength=n)
    says, expected = "areas of the segments add up to {value} px", "at most those of the image"
    beyond, value = total > document.size.prod(axis=1), lambda row: int(total[row])
    yield Rows(beyond, says, _AT, expected, value, code="G004")


_Png = dict[int, int] | str | None
"""The number of pixels of each segment in one PNG, or why it cannot be compared with the
annotation; None for annotations without a file name."""


def _pngs(document: Document) -> list[_Png]:
    """Return the content of the PNG of each annotation."""
    if document.disk is None:
        return [None] * len(document.annotations)
    found = [document.record(row).get("file_name") for row in range(len(document.annotations))]
    names = [name if isinstance(name, str) and name.strip() else None for name in found]
    file = Path(document.name)
    roots = [*document.disk.roots, *([file.resolve().parent] if file.is_file() else [])]
    roots = [folder for root in roots for folder in (root / file.stem, root)]
    places = find_files(names, [root for root in dict.fromkeys(roots) if root.is_dir()])
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(_read_png, places, document.size))


def _read_png(place: Place, size: FloatArray) -> _Png:
    """Return the segments of a PNG, which should be as large as its image."""
    from PIL import Image

    if place.state == ImageState.NOT_ASKED:
        return None
    if place.state != ImageState.FOUND:
        return place.problem or "is not found in the folders of the images and beside the file"
    try:
        with Image.open(place.file, formats=["PNG"]) as image:
            if image.size != tuple(size.tolist()) and not np.isnan(size).any():
                expected = f"{size[0]:g} x {size[1]:g}"
                return f"has {image.width} x {image.height} px; its image has {expected}"
            if image.mode not in ("RGB", "RGBA"):
                return f"has mode {image.mode}; expected RGB, the colours of segments"
            red, green, blue = np.moveaxis(np.asarray(image, np.uint32)[..., :3], -1, 0)
    # Decoders may raise any exception for broken files.
    except Exception as error:  # noqa: BLE001
        return f"cannot be read: {clean(str(error).partition(chr(10))[0])}"
    pixels = red | green << 8 | blue << 16
    ids, areas = np.unique(pixels[pixels > 0], return_counts=True)
    return dict(zip(ids.tolist(), areas.tolist(), strict=True))


def _unlike(document: Document, _settings: ValidateSettings) -> Checked:
    """G005 and G006: PNGs that cannot be used, or differ from the segments."""
    segments, pngs = document.annotations.segments, dict(enumerate(_pngs(document)))
    if segments is None:
        return
    unusable = {row: png for row, png in pngs.items() if isinstance(png, str)}
    names = {row: shortened(document.record(row).get("file_name")) for row in unusable}
    says = lambda row: f"PNG {names[row]} {unusable[row]}"  # noqa: E731
    yield Rows([*unusable], says, "annotations/file_name", few=1, code="G005")
    owner, n = document.annotations.segment_of[:, 0], len(document.annotations)
    bounds = np.searchsorted(owner, np.arange(n + 1))
    messages = {}
    for row, pixels in pngs.items():
        if not isinstance(pixels, dict):
            continue
        own = slice(bounds[row], bounds[row + 1])
        ids, first = np.unique(_whole(segments, "id")[own], return_index=True)
        areas = dict(zip(ids.tolist(), segments.area[own][first].tolist(), strict=True))
        # Results may omit areas.
        known = (each for each in areas.keys() & pixels.keys() if not np.isnan(areas[each]))
        parts = (
            ("only listed", {*areas} - {*pixels, -1}),
            ("only in the PNG", {*pixels} - {*areas}),
            ("with another area", {each for each in known if areas[each] != pixels[each]}),
        )
        if named := [f"{first_few(sorted(some), 3)} {what}" for what, some in parts if some]:
            messages[row] = ", ".join(named)
    says = lambda row: f"segments_info and its PNG differ: {messages[row]}"  # noqa: E731
    expected, found = "the same segments and areas in both", messages.get
    yield Rows([*messages], says, _AT, expected, found, code="G006")


RULES = (
    rule(
        "G001 error: segment without a required key",
        breaks="panopticapi stops with a KeyError or TypeError at the first one.",
        explanation="""A panoptic annotation has a list segments_info, and each segment an id, a
            category_id, an area in pixels and iscrowd, 0 or 1. Export the file again.""",
        bad=panoptic_example(area="9"),
        good=panoptic_example(),
    )(_segments),
    rule(
        "G002 error: segment id that is not a colour, or used twice in its image",
        breaks="panopticapi keeps one of two equal ids, and finds none that the PNG cannot hold.",
        explanation="""The colour of a pixel is the id of its segment: red + 256 green + 65536 blue.
            An id has to be 1 to 16,777,215, and to be unique in its image.""",
        bad=panoptic_example(id=7),
        good=panoptic_example(),
    )(_segments),
    rule(
        "G003 error: segment with a category that the file does not have",
        breaks="panopticapi stops with a KeyError when it looks the category up.",
        explanation="""No category has the category_id of a segment. Categories were removed, or the
            ids belong to another label map.""",
        bad=panoptic_example(category_id=5),
        good=panoptic_example(),
    )(_segments),
    rule(
        "G004 warning: area of a segment does not fit",
        breaks="The IoU of each match of the segment, and so panoptic quality, is wrong.",
        explanation="""The area of a segment, its number of pixels, is not above 0 or is more than
            the bbox; or the areas in an image add up to more than its size. Count pixels in the
            PNG.""",
        bad=panoptic_example(area=900),
        good=panoptic_example(),
    )(_segments),
    rule(
        "G005 error: PNG of the segments is missing or unusable",
        breaks="panopticapi stops with a FileNotFoundError, or compares wrong pixels.",
        explanation="""The PNG of a panoptic annotation is missing, cannot be read, differs in size
            from its image, or is not in RGB. It is searched next to the images and the COCO file,
            and in a folder there named like the COCO file.""",
        bad=panoptic_example(),
        good=panoptic_example(),
        scope="images",
    )(_unlike),
    rule(
        "G006 error: segments differ from their PNG",
        breaks="panopticapi stops at a segment that only one of them has, or quality is wrong.",
        explanation="""The PNG and segments_info have different segments, or the area of a segment
            is not that of its pixels: the PNG was resized, or the two come from different
            versions.""",
        bad=panoptic_example(area=8),
        good=panoptic_example(),
        scope="images",
    )(_unlike),
)
