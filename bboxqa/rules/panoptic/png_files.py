"""G: comparing panoptic segments with their PNG files (G005 and G006)."""

from collections.abc import Iterator

import numpy as np

from bboxqa.core.arrays import FloatArray, IndexArray
from bboxqa.core.json_values import shortened
from bboxqa.core.text import count
from bboxqa.formats.columns import Segments
from bboxqa.model.findings import Severity
from bboxqa.model.settings import ValidateSettings
from bboxqa.rules.base.reporting import record_defect
from bboxqa.rules.base.rule import Defect, Hits, Rule, hits
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.image_bounds import figure
from bboxqa.rules.panoptic.examples import panoptic_example
from bboxqa.rules.panoptic.png_segments import PngSegments, png_segments


def _unusable(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """G005: annotations whose PNG is missing, or cannot be compared."""
    contents = png_segments(document)
    wrong = [row for row, png in enumerate(contents) if png is not None and png.problem]
    expected = "a PNG in RGB of the size of its image"

    def describe(row: int) -> Defect:
        png, name = contents[row], document.record(row).get("file_name")
        message = f"PNG {shortened(name)} {'' if png is None else png.problem}"
        place = ("annotations", row, "file_name")
        return record_defect(document, place, message, found=name, expected=expected)

    def summary(rows: IndexArray, share: str) -> str:
        first = describe(int(rows[0])).message
        return f"PNG files of {share} cannot be used; the first: {first}"

    yield from hits(np.array(wrong, np.int64), describe, summary=summary, few=1)


def _different(document: Document, _settings: ValidateSettings) -> Iterator[Hits]:
    """G006: annotations whose segments differ from their PNG."""
    segments = document.annotations.segments
    bounds = np.searchsorted(segments.row, np.arange(len(document.annotations) + 1))
    messages = {}
    for row, png in enumerate(png_segments(document)):
        if png is not None and not png.problem:
            own = slice(bounds[row], bounds[row + 1])
            if text := _difference(segments, own, png):
                messages[row] = text

    def describe(row: int) -> Defect:
        return record_defect(
            document,
            ("annotations", row, "segments_info"),
            f"segments_info and PNG {shortened(document.record(row)['file_name'])} differ: "
            f"{messages[row]}; expected the same segments and areas in both",
            expected="the segments of the PNG",
        )

    yield from hits(np.array(list(messages), np.int64), describe)


def _difference(segments: Segments, own: slice, png: PngSegments) -> str:
    """Return how the segments in the file differ from the PNG; "" if they do not."""
    ids, first = np.unique(segments.id[own], return_index=True)
    areas, bbox = segments.area[own][first], segments.bbox[own][first]
    lacking, unlisted = np.setdiff1d(ids, png.id), np.setdiff1d(png.id, ids)
    _, ours, theirs = np.intersect1d(ids, png.id, return_indices=True)
    # Results may omit areas.
    differ = np.flatnonzero(~np.isnan(areas[ours]) & (areas[ours] != png.area[theirs]))
    parts = []
    if len(lacking):
        parts.append(
            f"{count(len(lacking), 'listed segment')} without pixels, such as {lacking[0]}"
        )
    if len(unlisted):
        parts.append(
            f"{count(len(unlisted), 'segment')} of the PNG not listed, such as {unlisted[0]}"
        )
    if len(differ):
        place = differ[0]
        parts.append(
            f"{count(len(differ), 'wrong area')}, such as {figure(areas[ours][place])} of segment "
            f"{ids[ours][place]}, which has {png.area[theirs][place]:,} px"
        )
    if len(misplaced := _misplaced(bbox[ours], png.bounds[theirs])):
        left, top, right, bottom = png.bounds[theirs][misplaced[0]].tolist()
        box = ", ".join(map(figure, bbox[ours][misplaced[0]]))
        parts.append(
            f"{len(misplaced):,} wrong bbox{'' if len(misplaced) == 1 else 'es'}, such as {box} of "
            f"segment {ids[ours][misplaced[0]]}, whose pixels have {left}, {top}, {right - left}, "
            f"{bottom - top}"
        )
    return ", ".join(parts)


def _misplaced(bbox: FloatArray, bounds: IndexArray) -> IndexArray:
    """Return which boxes are not the bounds of their pixels, (S,) bool.

    Boxes may be missing, and some tools exclude the last row and column.
    """
    start, stop = bbox[:, :2] - bounds[:, :2], bbox[:, :2] + bbox[:, 2:] - bounds[:, 2:]
    off: IndexArray = np.flatnonzero(
        (np.abs(start) >= 1).any(axis=1) | (np.abs(stop) > 1).any(axis=1)
    )
    return off


RULES = (
    Rule(
        code="G005",
        title="PNG of the segments is missing or unusable",
        severity=Severity.ERROR,
        scope="images",
        breaks="panopticapi stops with a FileNotFoundError, or compares wrong pixels.",
        explanation="""The file_name of a panoptic annotation is a PNG whose colours are the ids of
            the segments. It is searched next to the images and the COCO file, and in a folder there
            named like the COCO file. Here it is missing, cannot be read, differs in size from its
            image, or is not in RGB: grey PNG files of class numbers belong to semantic
            segmentation.""",
        bad=panoptic_example(),
        good=panoptic_example(),
        check=_unusable,
    ),
    Rule(
        code="G006",
        title="segments differ from their PNG",
        severity=Severity.ERROR,
        scope="images",
        breaks="""panopticapi stops with 'segment with ID … is presented in PNG and not presented in
            JSON', or the other way round; with wrong areas, panoptic quality is wrong.""",
        explanation="""The PNG has segments that segments_info does not list, or the other way
            round; or the area of a segment is not its number of pixels, or its bbox is not the
            bounds of its pixels. The PNG may have been resized or stored with other colours, or the
            two come from different versions. Colour 0 is for pixels without a label.""",
        bad=panoptic_example(area=8),
        good=panoptic_example(),
        check=_different,
    ),
)
