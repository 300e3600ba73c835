"""Converting a translation to the columns from which agreement is measured."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bboxqa.core.errors import DatasetError
from bboxqa.core.memory import gc_paused
from bboxqa.formats.annotations.columns import AnnotationFile, ColumnsBuilder
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import ANNOTATOR_KEYS, Category
from bboxqa.formats.annotations.rotated_columns import rotated_notes
from bboxqa.formats.document.origin import STOPPING, Where
from bboxqa.formats.translation.boxes.box_columns import columns_of
from bboxqa.formats.translation.boxes.boxed import Boxed
from bboxqa.formats.translation.boxes.own_ids import OwnIds
from bboxqa.formats.translation.plain.document_parts import records_of
from bboxqa.formats.translation.source_files import MeasuredFiles, size_and_digest
from bboxqa.formats.translation.translated import Boxes, Record, Translate, Wanted
from bboxqa.model.annotations import Source


@gc_paused()
def read_file(translate: Translate, path: Path, options: ReadOptions) -> AnnotationFile:
    """Return the annotations of a source; see `bboxqa.formats.format.Reader`.

    Raises DatasetError with all defects that would falsify a result.
    """
    of = _Columns(path, options)
    files = MeasuredFiles(path, digest=options.digest) if path.is_dir() else None
    wanted = _wanted(options, of, files)
    found = translate(path, of.add, wanted)
    problems = [f"{path}: {each.message}" for each in found.defects if each.code in STOPPING]
    problems += [*of.builder.problems, *of.builder.author_problems()]
    if problems:
        raise DatasetError(problems, files=[path] * len(problems))
    if files is not None:
        size, blake2b = files.size_and_digest()
    else:
        size, blake2b = size_and_digest(path, digest=options.digest)
    columns = of.builder.done()
    notes = [*found.notes, *of.boxed.notes(are_upright=not wanted.outlines)]
    if columns.rotated is not None and not options.outlines:
        notes += rotated_notes(columns.rotated.form)
    return AnnotationFile(
        Source(str(path), size, blake2b),
        msgspec.convert(found.images, list[of.builder.image_type]),  # type: ignore[name-defined]
        msgspec.convert(found.categories, list[Category]),
        columns,
        tuple(notes),
        found.named_by,
        title=found.title,
        lists_images=found.lists_images,
        numbers_categories=True,
        own_ids=of.own_ids.done(),
        told_base=found.told_base,
        task_of_frames=found.task_of_frames,
        shown_images=found.shown_images,
        unshown=[
            (key, msgspec.convert(images, list[of.builder.image_type]), note)  # type: ignore[name-defined]
            for key, images, note in found.unshown
        ],
        numbered_images=found.numbered_images,
        numbered_advice=found.numbered_advice,
        n_apart=of.boxed.n_apart,
        repeat_notes=tuple(found.repeat_notes),
        nobody_notes=tuple(found.nobody_notes),
    )


def _wanted(options: ReadOptions, of: "_Columns", files: MeasuredFiles | None) -> Wanted:
    has_all_keys = {*options.keys} <= {*ANNOTATOR_KEYS} and not options.keypoints
    return Wanted(
        outlines=options.outlines or options.rotated,
        keypoints=options.keypoints,
        sessions="session" in options.keys,
        in_full=False,
        progress=options.progress,
        add_boxes=of.add_boxes if has_all_keys else None,
        files=files,
    )


class _Columns:
    """Collects the annotations of a translation as columns."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.builder = ColumnsBuilder(str(path), options)
        self.boxed = Boxed()
        self._options = options
        self.own_ids = OwnIds(path)

    def add(self, records: Sequence[Record], places: Sequence[Where]) -> None:
        """Add records."""
        kept, kept_places = self.boxed.take(records, places)
        for record in kept if self._options.outlines else ():
            # If outlines are compared, a box is a rectangular outline.
            if "segmentation" not in record:
                record["segmentation"] = [_ring(*record["bbox"])]
        self.own_ids.add(kept, kept_places)
        self.builder.add(msgspec.convert(kept, list[self.builder.type]))  # type: ignore[name-defined]

    def add_boxes(self, boxes: Boxes) -> None:
        """Add boxes, given as columns."""
        if self._options.rotated and boxes.corners is not None:
            # Only records hold the rotation of a box.
            wheres = [boxes.lines.where(row) for row in range(len(boxes))]
            self.add(records_of(boxes, self.boxed.n + 1), wheres)
            return
        first = self.boxed.take_columns(boxes)
        self.builder.absorb(columns_of(boxes, first, self._options), ())
        self.own_ids.add_boxes(boxes)


def _ring(x: float, y: float, width: float, height: float) -> list[float]:
    right, bottom = x + width, y + height
    return [x, y, right, y, right, bottom, x, bottom]
