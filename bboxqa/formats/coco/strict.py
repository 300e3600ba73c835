"""Reading one COCO file: fast if it is valid, otherwise record by record."""

import mmap
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from bboxqa.core.errors import DatasetError
from bboxqa.core.files import digest_of
from bboxqa.core.types import Steps
from bboxqa.formats.annotations.box_numbers import has_angles
from bboxqa.formats.annotations.columns import AnnotationFile, Columns, ColumnsBuilder
from bboxqa.formats.annotations.cvat_crowds import cvat_crowds_note, may_be_of_cvat
from bboxqa.formats.annotations.first_outlines import outline_notes
from bboxqa.formats.annotations.five_numbers import settled
from bboxqa.formats.annotations.joint_columns import without_box_note
from bboxqa.formats.annotations.read_options import ReadOptions
from bboxqa.formats.annotations.records import Category, Image
from bboxqa.formats.coco.coco_ends import begins_with_segments
from bboxqa.formats.coco.decoding import MalformedError, decode_rest, decode_windows, numbered
from bboxqa.formats.document.content import RawDocument
from bboxqa.formats.format import Format
from bboxqa.formats.opening import named_errors
from bboxqa.formats.translation.choices import choices
from bboxqa.formats.translation.members import head_of
from bboxqa.formats.windows import ANNOTATIONS, Cut, Text, begins_with_results, in_two_halves
from bboxqa.model.annotations import Source

# Everything before the first list of images.
_IMAGES = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{.*?"images"\s*:\s*\[', re.DOTALL)


def read_file(path: Path, options: ReadOptions) -> AnnotationFile:
    """Read a COCO file.

    Raises DatasetError if the file does not exist, is not JSON, or has records that cannot be read;
    all of these are listed.
    """
    size = _size(path)
    # Pages of a mapped file are not copied, and the system can reclaim them.
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
    ):
        records = read_text(text, path, options)
        return records(Source(str(path), size, digest_of(path) if options.digest else None))


def read_text(text: Text, path: Path, options: ReadOptions) -> Callable[[Source], AnnotationFile]:
    """Read COCO JSON; return a function that makes the `AnnotationFile` once its source is known.

    Raises the errors of `read_file`; `path` is for messages.
    """
    if begins_with_results(text):
        from bboxqa.formats.coco.results import read_results

        return read_results(text, path, options)
    name = str(path)
    opening = ANNOTATIONS.search(text)
    if opening is not None and begins_with_segments(text, opening.end()):
        from bboxqa.formats.coco.panoptic import read_panoptic

        return read_panoptic(text, opening.end(), path, options)
    turned = opening is not None and has_angles(text, opening.end())
    crowds = opening is not None and may_be_of_cvat(text, opening.end())
    new_builder = partial(ColumnsBuilder, name, options, turned=turned, crowds=crowds)
    try:
        images, categories, builder = _read_fast(text, opening, new_builder, options.progress)
    except MalformedError:
        builder = new_builder()
        from bboxqa.formats.coco.fallback import read_fallback
        from bboxqa.formats.document.tolerant import read_records

        images, categories = read_fallback(
            *read_records(text, name), builder, path, has_annotations=not options.tables
        )
    builder.problems += [
        *builder.author_problems(),
        *numbered("images", name, images),
        *numbered("categories", name, categories),
    ]
    if builder.problems:
        raise DatasetError(builder.problems, files=[path] * len(builder.problems))

    def file(source: Source) -> AnnotationFile:
        outlined: tuple[str, ...] = ()
        if opening is not None and options.upright_only:
            outlined = tuple(outline_notes(text, opening.end()))
        columns = builder.done()
        # An annotation with an outline is not rotated by its attribute.
        columns = replace(columns, n_turned=0) if outlined else columns
        columns, notes = settled(columns, choices().rotated)
        if builder.n_without_box:
            notes += (without_box_note(builder.n_without_box),)
        if columns.n_cvat_crowds:
            notes += (cvat_crowds_note(columns.n_cvat_crowds),)
        return AnnotationFile(source, images, categories, columns, notes + outlined)

    return file


def _size(path: Path) -> int:
    """Return the size of a file in bytes; raises DatasetError if it cannot be read."""
    with named_errors(path, "a COCO JSON file"):
        if path.exists() and not path.is_file():
            raise DatasetError(
                [f"{path}: is a pipe or a device; expected a file"], "Write it to a file first."
            )
        size = path.stat().st_size
        with path.open("rb"):
            pass
    if size == 0:
        problem = f"{path}: the file is empty"
        raise DatasetError([problem], "Export it again.", files=[path])
    return size


def _read_fast(
    text: Text,
    opening: Cut | None,
    new_builder: Callable[[], ColumnsBuilder],
    progress: Steps | None,
) -> tuple[list[Image], list[Category], ColumnsBuilder]:
    """Decode the annotations window by window, then the rest of the file.

    `opening` is the beginning of the list of annotations. Raises MalformedError if there is none.
    """
    if opening is None:
        raise MalformedError
    first = opening.end()
    builder, place = _decode_windows(text, first, new_builder, progress)
    images, categories = decode_rest(
        text, first, place, builder.type, builder.add, builder.image_type
    )
    return images, categories, builder


def _decode_windows(
    text: Text,
    start: int,
    new_builder: Callable[[], ColumnsBuilder],
    progress: Steps | None,
) -> tuple[ColumnsBuilder, int]:
    """Decode the records of a list window by window; return where the rest begins."""
    builder = new_builder()

    def here(place: int, last: Cut | None) -> int:
        return decode_windows(text, place, builder.type, builder.add, progress, last=last)

    def there(place: int) -> tuple[Columns, list[str], int]:
        other = new_builder()
        place = decode_windows(text, place, other.type, other.add)
        return other.done(), other.problems, place

    def join(found: tuple[Columns, list[str], int]) -> int:
        columns, problems, place = found
        builder.absorb(columns, problems)
        return place

    # Columns from a second process are in memory twice for a while.
    start = in_two_halves(text, start, here, there, join)
    return builder, here(start, None)


def _recognises(path: Path) -> bool:
    """Return whether a file has the suffix .json, or begins like a JSON object."""
    if path.suffix.lower() == ".json":
        return True
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except OSError:
        return True


def begins_as_coco(head: bytes) -> bool:
    """Return whether a text begins like COCO JSON and unlike JSON of other tools."""
    return _IMAGES.match(head) is not None


def is_surely_coco(path: Path) -> bool:
    """Return whether a file begins like COCO JSON and unlike JSON of other tools."""
    return begins_as_coco(head_of(path))


def _read_document(path: Path, progress: Steps | None = None) -> RawDocument:
    from bboxqa.formats.document.tolerant import read_path

    return read_path(path, progress)


COCO = Format("coco", (".json",), _recognises, read_file, _read_document)
"""COCO files with object annotations."""
