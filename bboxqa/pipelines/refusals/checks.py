"""Checks before measuring: defects that would distort agreement are refused."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bboxqa.core.arrays import BoolArray, FloatArray, IndexArray, IntArray, find
from bboxqa.core.errors import DatasetError
from bboxqa.core.text import one_line
from bboxqa.formats.annotations.columns import AnnotationFile
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS, id_number, ids_of
from bboxqa.formats.coco.archive import COCO_JSON
from bboxqa.formats.coco.sample import sample_annotations
from bboxqa.formats.dataset.people.attributed import Attribution
from bboxqa.formats.dataset.people.wrong_values import composed_names
from bboxqa.formats.dataset.versions import refuse_other_rounds
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.registry import format_of
from bboxqa.model.annotations import Annotations, Dataset
from bboxqa.model.outlines import SegmentationKind
from bboxqa.pipelines.refusals.causes import Causes, causes, fix_advice, validate_command
from bboxqa.rules.facts.box_overlaps import BoxColumn, are_many, first_equal
from bboxqa.rules.facts.boxes import Boxes, boxes_of, inside, sized_boxes
from bboxqa.rules.facts.copied_boxes import copies_of
from bboxqa.rules.facts.document import Document
from bboxqa.rules.facts.layouts.box_layout import Diagnosis, diagnose, layout_of, lie_elsewhere
from bboxqa.rules.facts.layouts.layout_evidence import ENOUGH

LAYOUTS = ("B005", "B006", "B007", "B013", "P007")
DOUBLED = ("D001",)
COPIED = ("B014",)
# Sample size for the search for repeated annotations and boxes.
_SAMPLE = 100_000
# Sample size for the comparison of outlines with boxes.
_OUTLINES = 2_000
# Largest share of the boxes outside their images that may remain outside after a swap.
_FEW = 0.05
_SWAPPED = (
    "in most images boxes extend beyond the image, but lie inside if x and y are swapped: are "
    "boxes written as y, x, height, width, or images with height as width? Look at an image"
)
_ANYWAY = (
    "To measure the annotations as they are: --no-checks (in Python checks=False, in bboxqa.toml "
    "checks = false)."
)


def check_files(
    paths: Sequence[Path],
    files: Sequence[AnnotationFile],
    attribution: Attribution,
    *,
    boxes: bool,
    sessions: bool = False,
) -> tuple[str, ...]:
    """Refuse files with lists as names of annotators, or with wrong, copied or repeated boxes.

    The columns that were read and a sample of the records show which files are suspect. These are
    read again and checked by the rules. Raises DatasetError with the findings of all files.

    Parameters
    ----------
    boxes : bool
        Whether boxes are compared, and not outlines.
    sessions : bool
        Whether annotators may have annotated an image in several sessions.

    Returns
    -------
    tuple of str
        Headlines on doubtful boxes.
    """
    found: dict[Path, Causes] = {}
    doubts: list[str] = []
    for path, file, author in zip(paths, files, attribution.author, strict=True):
        columns = _columns(file, author, attribution.names)
        layout = layout_of(columns) if boxes else None
        # The rules cannot check results without the ground truth, nor the layout of segments.
        doubled = DOUBLED if file.records == "annotations" and _are_doubled(columns, file) else ()
        if format_of(path) in COCO_JSON and file.records == "annotations":
            suspect = boxes and (layout or _is_sample_suspect(path, file))
            codes = (
                *(LAYOUTS if suspect else ()),
                *doubled,
                *(COPIED if boxes and not suspect and _are_copied(columns) else ()),
            )
            if codes:
                found[path] = _decided(path, columns, codes)
        elif layout is not None:
            found[path] = Causes([_line(str(path), layout)], 1, None)
        elif doubled:
            found[path] = _decided(path, columns, doubled)
        if boxes and _are_all_cured_by_swap(columns) and not _has_outlines(path, file):
            doubts.append(f"{path}: {_SWAPPED}")
    _add_composed_names(found, dict(zip(paths, files, strict=True)), attribution.key)
    found = {path: each for path, each in found.items() if each.lines}
    if found:
        lines = [line for each in found.values() for line in each.lines]
        n_found = sum(each.n_found for each in found.values())
        truth = paths[0] if attribution.n_beside and paths[-1] in found else None
        advice, command = _advice(found, truth)
        raise DatasetError(lines, f"{advice}\n{_ANYWAY}", command=command, total=n_found)
    if not sessions:
        refuse_other_rounds(files, attribution.author, attribution.names, _ANYWAY)
    return tuple(doubts)


def _add_composed_names(
    found: dict[Path, Causes], files: Mapping[Path, AnnotationFile], key: str
) -> None:
    """Add the problems of annotators under the key that are lists or objects."""
    for path, file in files.items():
        if key and file.records != "results":
            named = (file.named_by if key == ANNOTATOR_KEYS[0] else "") or key
            problems = composed_names(file.shown_ids, named, file.columns.authors[key])
            others = found.get(path, Causes([], 0, None))
            lines = [f"{path}: {each}" for each in problems]
            if lines:
                n_found = len(lines) + others.n_found
                found[path] = Causes([*lines, *others.lines], n_found, None)


def doubts_of(
    paths: Sequence[Path], files: Sequence[AnnotationFile], attribution: Attribution
) -> Iterator[str]:
    """Yield what `check_files` says or refuses, as notes on annotations that are converted."""
    try:
        yield from check_files(paths, files, attribution, boxes=True)
    except DatasetError as error:
        yield from (f"{line}; written as they are" for line in error.problems)


def _are_cured_by_swap(boxes: Boxes, group: IntArray, n: int) -> BoolArray:
    """Return (n,) bool: groups whose boxes lie outside most images, but inside once swapped.

    A sample of the images decides. `group` is (N,) int, the group of each box; -1 for none.
    """
    step = max(1, len(boxes) // _SAMPLE)
    rows = np.flatnonzero(sized_boxes(boxes) & (group >= 0) & (boxes.image % step == 0))
    bbox, size, image, group = boxes.bbox[rows], boxes.size[rows], boxes.image[rows], group[rows]
    outside, still = ~inside(bbox, size), ~inside(bbox, size[:, ::-1])
    n_outside, n_still = (np.bincount(group[each], minlength=n) for each in (outside, still))
    n_left, n_images = (
        np.bincount(np.unique(image[each] * n + group[each]) % n, minlength=n)
        for each in (outside, np.ones_like(outside))
    )
    found: BoolArray = (n_outside >= ENOUGH) & (n_still <= _FEW * n_outside)
    return found & (2 * n_left >= n_images)


def _are_all_cured_by_swap(boxes: Boxes) -> bool:
    return bool(_are_cured_by_swap(boxes, np.zeros(len(boxes), np.int32), 1)[0])


def _decided(path: Path, columns: Boxes, codes: tuple[str, ...]) -> Causes:
    """Return the findings of the rules in a suspect file, which is read as a whole."""
    read = format_of(path).document
    if read is None:
        return Causes([], 0, None)
    document = Document(read(path))
    found = causes(document, codes, errors_only=True)
    if found.lines or not set(LAYOUTS) & set(codes):
        return found
    # The rules know the common annotator keys only.
    boxes = boxes_of(document)
    boxes.author, boxes.names = columns.author, columns.names
    layout = layout_of(boxes)
    return found if layout is None else Causes([_line(str(path), layout)], 1, None)


def _line(name: str, layout: Diagnosis) -> str:
    return f"{name}: {layout.code} error {layout.message}"


def _advice(found: Mapping[Path, Causes], truth: Path | None) -> tuple[str, str]:
    """Return how to go on, and the command in it."""
    command = validate_command(found)
    if truth is not None:
        command += f" --ground-truth {shlex.quote(str(truth))}"
    fixes = {each.fix for each in found.values()}
    if None in fixes:
        return f"For all findings, and what to do about them: {command}", command
    if fixes == {"safe"}:
        return fix_advice("Safe fixes, written to a copy", f"{command} --fix", found)
    words = "If an image shows that the finding is right, this fixes a copy"
    return fix_advice(words, f"{command} --fix --unsafe-fixes", found)


def _columns(file: AnnotationFile, author: IntArray, names: tuple[str, ...]) -> Boxes:
    """Return the boxes of a file as they were read; NaN where only key points were drawn."""
    ids = ids_of(file.images)
    bbox, points = file.columns.bbox, file.columns.keypoints
    if points is not None:
        bbox = np.where(points.are_extents(bbox)[:, None], np.nan, bbox)
    sizes = np.array([(i.width or 0, i.height or 0) for i in file.images], np.float64)
    image = find(ids, file.columns.image_id)
    return Boxes(bbox, _of_image(sizes, image), image, len(ids), author, names)


def _of_image(sizes: FloatArray, image: IndexArray | IntArray) -> FloatArray:
    """Return the size of the image of each annotation; NaN where unknown."""
    known = np.vstack([sizes.reshape(-1, 2), [[0, 0]]])
    known[~(known > 0)] = np.nan
    return known[image]


def _is_sample_suspect(path: Path, file: AnnotationFile) -> bool:
    """Return whether outlines and areas of a sample contradict the boxes."""
    document = _sample(path, file)
    return diagnose(document) is not None or lie_elsewhere(document)


def _has_outlines(path: Path, file: AnnotationFile) -> bool:
    """Return whether outlines can show the layout of the boxes."""
    if format_of(path) not in COCO_JSON:
        return False
    return bool(np.isfinite(_sample(path, file).outline_bounds).any())


def _sample(path: Path, file: AnnotationFile) -> Document:
    """Return a document of some annotations of a file."""
    annotations = sample_annotations(path)
    wanted = set(annotations.image_id.tolist())
    images = [
        {"id": image.id, "width": image.width, "height": image.height}
        for image in file.images
        if id_number(image.id) in wanted
    ]
    return Document(RawDocument(str(path), b"", 0, images=images, annotations=annotations))


def _are_doubled(columns: Boxes, file: AnnotationFile) -> bool:
    """Return whether many annotations in a sample of the images are duplicates."""
    step = max(1, len(columns) // _SAMPLE)
    rows = np.flatnonzero(columns.image % step == 0)
    every = (
        columns.image, file.columns.category_id, columns.author, file.columns.iscrowd,
        *columns.bbox.T,
    )  # fmt: skip
    first = first_equal(len(rows), [_values(column[rows]) for column in every])
    return are_many(int((first != np.arange(len(rows))).sum()), len(rows))


def _are_copied(columns: Boxes) -> bool:
    """Return whether boxes in a sample of the images are equal on images of several sizes."""
    step = max(1, len(columns) // _SAMPLE)
    copies = copies_of(columns, columns.image % step == 0)
    return copies is not None and len(copies.rows) > 0


def _values(column: NDArray[Any]) -> BoxColumn:
    return lambda rows: column[rows]


def check_boxes(data: Dataset) -> Dataset:
    """Return a data set with headlines on doubtful boxes.

    Raise DatasetError if its arrays show that boxes are in another layout than COCO's.
    """
    annotations = data.annotations
    size = _of_image(data.image_size.astype(np.float64), annotations.image)
    boxes = Boxes(
        annotations.bbox, size, annotations.image, len(data.image_names), annotations.annotator,
        data.annotator_names, bounds=_some_bounds(annotations),
    )  # fmt: skip
    layout = layout_of(boxes)
    if layout is not None:
        raise DatasetError([f"{layout.code}: {layout.message}"], _ANYWAY)
    doubts: tuple[str, ...] = ()
    outlines = annotations.segmentation
    if outlines is not None and (outlines.kind != SegmentationKind.NONE).any():
        return data
    if _are_all_cured_by_swap(boxes):
        doubts = (_SWAPPED,)
    elif boxes.names:
        found = _are_cured_by_swap(boxes, boxes.author, len(boxes.names))
        names = [one_line(boxes.names[who]) for who in np.flatnonzero(found).tolist()]
        doubts = tuple(f"{name}: {_SWAPPED}" for name in names)
    return replace(data, headlines=(*doubts, *data.headlines))


def _some_bounds(annotations: Annotations) -> FloatArray | None:
    """Return (N, 4) float64: the bounds of a sample of the polygons; NaN for others."""
    outlines = annotations.segmentation
    if outlines is None:
        return None
    bounds = np.full((len(annotations), 4), np.nan)
    rows = np.flatnonzero(outlines.kind == SegmentationKind.POLYGON)
    for row in rows[:: max(1, len(rows) // _OUTLINES)].tolist():
        xy = np.concatenate(outlines.rings(row))
        if len(xy):
            bounds[row] = *xy.min(axis=0), *xy.max(axis=0)
    return bounds
